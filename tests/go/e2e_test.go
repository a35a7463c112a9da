// A Go client against the real daemon: what a user of the generated stubs does.
package e2e

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	pb "github.com/trainerd/trainerd/gen/go/trainer/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

type daemon struct {
	dir string
	cmd *exec.Cmd
}

func start(t *testing.T) *daemon {
	t.Helper()
	bin := os.Getenv("TRAINERD_BIN")
	if bin == "" {
		bin = "../../build/dev/bin"
	}
	// A unix socket's path is short: the test's own directory would be too long.
	dir, err := os.MkdirTemp("", "trainerd-go")
	if err != nil {
		t.Fatal(err)
	}
	d := &daemon{dir: dir, cmd: exec.Command(filepath.Join(bin, "trainerd"), "--state-dir", dir)}
	log, err := os.Create(filepath.Join(dir, "daemon.log"))
	if err != nil {
		t.Fatal(err)
	}
	d.cmd.Stderr = log
	if err := d.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = d.cmd.Process.Signal(syscall.SIGTERM)
		if err := d.cmd.Wait(); err != nil {
			text, _ := os.ReadFile(filepath.Join(dir, "daemon.log"))
			t.Errorf("the daemon did not stop well: %v\n%s", err, text)
		}
		_ = os.RemoveAll(dir)
	})
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		text, _ := os.ReadFile(filepath.Join(dir, "daemon.log"))
		if strings.Contains(string(text), " ready: ") {
			return d
		}
	}
	t.Fatal("the daemon does not become ready")
	return nil
}

func (d *daemon) read(t *testing.T, name string) string {
	text, err := os.ReadFile(filepath.Join(d.dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(text))
}

func dial(t *testing.T, address string, options ...grpc.DialOption) pb.TrainerServiceClient {
	t.Helper()
	options = append(options, grpc.WithTransportCredentials(insecure.NewCredentials()))
	conn, err := grpc.NewClient(address, options...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return pb.NewTrainerServiceClient(conn)
}

func job(command ...string) *pb.JobSpec {
	return &pb.JobSpec{Runtime: "process", Roles: []*pb.Role{{Name: "worker", Replicas: wrapperspb.Int32(1), Command: command}}}
}

func within(t *testing.T, d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	t.Cleanup(cancel)
	return ctx
}

func TestSubmitWatchLogs(t *testing.T) {
	d := start(t)
	c := dial(t, "unix://"+d.dir+"/trainerd.sock")
	ctx := within(t, time.Minute)
	answer, err := c.Submit(ctx, &pb.SubmitRequest{Spec: job("sh", "-c", "echo from go; exit 3"), RequestId: "go-1"})
	if err != nil {
		t.Fatal(err)
	}
	stream, err := c.Watch(ctx, &pb.WatchRequest{Selector: &pb.JobSelector{Uids: []string{answer.Job.Uid}}, UntilTerminal: true})
	if err != nil {
		t.Fatal(err)
	}
	var last *pb.JobStatus
	for {
		m, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if s := m.GetSnapshot(); s != nil {
			last = s.Status
		}
		if s := m.GetTransition(); s != nil {
			last = s.Status
		}
	}
	if last.GetState() != pb.Job_FAILED || last.GetExit().GetExitCode() != 3 {
		t.Fatalf("want FAILED with 3, got %v", last)
	}
	logs, err := c.Logs(ctx, &pb.LogsRequest{Job: &pb.JobRef{Uid: answer.Job.Uid}, Follow: true})
	if err != nil {
		t.Fatal(err)
	}
	var text []byte
	for {
		m, err := logs.Recv()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		text = append(text, m.GetChunk().GetData()...)
	}
	if string(text) != "from go\n" {
		t.Fatalf("logs: %q", text)
	}
}

func TestTokenOverTCP(t *testing.T) {
	d := start(t)
	c := dial(t, "127.0.0.1:"+d.read(t, "port"))
	ctx := within(t, time.Minute)
	if _, err := c.GetServerInfo(ctx, &pb.GetServerInfoRequest{}); status.Code(err) != codes.Unauthenticated {
		t.Fatalf("without a token: %v", err)
	}
	wrong := metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer wrong")
	if _, err := c.GetServerInfo(wrong, &pb.GetServerInfoRequest{}); status.Code(err) != codes.Unauthenticated {
		t.Fatalf("with a wrong token: %v", err)
	}
	right := metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+d.read(t, "token"))
	if info, err := c.GetServerInfo(right, &pb.GetServerInfoRequest{}); err != nil || info.Epoch == "" {
		t.Fatalf("with the token: %v %v", info, err)
	}
}

// A client that pings as often as it may must not be sent away while it waits (W10, shortened).
func TestKeepalivePingsAreWelcome(t *testing.T) {
	d := start(t)
	c := dial(t, "unix://"+d.dir+"/trainerd.sock", grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: 10 * time.Second, Timeout: 5 * time.Second, PermitWithoutStream: true}))
	ctx := within(t, time.Minute)
	stream, err := c.Watch(ctx, &pb.WatchRequest{HeartbeatSeconds: wrapperspb.Int32(60)})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := stream.Recv(); err != nil {
		t.Fatal(err)
	}
	time.Sleep(35 * time.Second)
	if _, err := c.Submit(ctx, &pb.SubmitRequest{Spec: job("true")}); err != nil {
		t.Fatal(err)
	}
	if _, err := stream.Recv(); err != nil {
		t.Fatalf("the stream was cut: %v", err)
	}
}
