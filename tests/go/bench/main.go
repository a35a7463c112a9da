// The load that tools/bench makes: one measurement a call, its result as one line of JSON.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"sort"
	"sync"
	"sync/atomic"
	"time"

	pb "github.com/trainerd/trainerd/gen/go/trainer/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

var (
	address     = flag.String("address", "", "unix:///path or host:port")
	count       = flag.Int("n", 1000, "how many")
	concurrency = flag.Int("c", 64, "calls under way at once")
	connections = flag.Int("connections", 4, "connections")
	group       = flag.String("group", "bench", "group of the jobs")
	suspended   = flag.Bool("suspended", false, "submit suspended jobs: nothing is started")
	hold        = flag.Duration("hold", 0, "keep the streams open this long")
)

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func clients(n int) []pb.TrainerServiceClient {
	out := make([]pb.TrainerServiceClient, n)
	for i := range out {
		conn, err := grpc.NewClient(*address, grpc.WithTransportCredentials(insecure.NewCredentials()))
		check(err)
		out[i] = pb.NewTrainerServiceClient(conn)
	}
	return out
}

func spec() *pb.JobSpec {
	s := &pb.JobSpec{Runtime: "process", NamePrefix: "bench", Group: *group, Labels: map[string]string{"load": "bench"},
		Roles: []*pb.Role{{Name: "worker", Replicas: wrapperspb.Int32(1), Command: []string{"/bin/true"}}}}
	if *suspended {
		s.RunPolicy = &pb.RunPolicy{Suspend: true}
	}
	return s
}

func quantile(d []time.Duration, q float64) float64 {
	return float64(d[int(float64(len(d)-1)*q)].Microseconds()) / 1000
}

// Runs do(i) n times with c under way; returns the time it took and every call's latency, sorted.
func run(n, c int, do func(i int)) (time.Duration, []time.Duration) {
	latencies := make([]time.Duration, n)
	var next atomic.Int64
	var wait sync.WaitGroup
	begin := time.Now()
	for w := 0; w < c; w++ {
		wait.Add(1)
		go func() {
			defer wait.Done()
			for {
				i := int(next.Add(1)) - 1
				if i >= n {
					return
				}
				start := time.Now()
				do(i)
				latencies[i] = time.Since(start)
			}
		}()
	}
	wait.Wait()
	took := time.Since(begin)
	sort.Slice(latencies, func(a, b int) bool { return latencies[a] < latencies[b] })
	return took, latencies
}

func submits() map[string]any {
	cs := clients(*connections)
	s := spec()
	took, l := run(*count, *concurrency, func(i int) {
		_, err := cs[i%len(cs)].Submit(context.Background(), &pb.SubmitRequest{Spec: s})
		check(err)
	})
	return map[string]any{"per_second": float64(*count) / took.Seconds(), "p50_ms": quantile(l, 0.5), "p99_ms": quantile(l, 0.99)}
}

// Jobs of one process each, from the first Submit to the last end.
func jobs() map[string]any {
	cs := clients(*connections)
	stream, err := cs[0].Watch(context.Background(), &pb.WatchRequest{Selector: &pb.JobSelector{Group: *group}, SkipSnapshot: true})
	check(err)
	_, err = stream.Recv()
	check(err)
	ended := make(chan struct{})
	go func() {
		for left := *count; left > 0; {
			m, err := stream.Recv()
			check(err)
			if t := m.GetTransition(); t != nil && t.To >= pb.Job_SUCCEEDED {
				left--
			}
		}
		close(ended)
	}()
	begin := time.Now()
	s := spec()
	run(*count, *concurrency, func(i int) {
		_, err := cs[i%len(cs)].Submit(context.Background(), &pb.SubmitRequest{Spec: s})
		check(err)
	})
	<-ended
	return map[string]any{"per_second": float64(*count) / time.Since(begin).Seconds()}
}

// The floor: the same number of /bin/true by this program's own fork and exec, two at once.
func spawns() map[string]any {
	took, _ := run(*count, 2, func(int) { check(exec.Command("/bin/true").Run()) })
	return map[string]any{"per_second": float64(*count) / took.Seconds()}
}

// Opens n idle streams, says so, and holds them.
func streams() map[string]any {
	cs := clients(*connections)
	took, _ := run(*count, *concurrency, func(i int) {
		stream, err := cs[i%len(cs)].Watch(context.Background(), &pb.WatchRequest{Selector: &pb.JobSelector{Group: *group}, SkipSnapshot: true, HeartbeatSeconds: wrapperspb.Int32(60)})
		check(err)
		_, err = stream.Recv()
		check(err)
		go func() {
			for {
				if _, err := stream.Recv(); err != nil {
					return
				}
			}
		}()
	})
	fmt.Println("open")
	time.Sleep(*hold)
	return map[string]any{"opened_per_second": float64(*count) / took.Seconds()}
}

// n watchers of one group; jobs are submitted suspended; counts messages delivered.
func fanout() map[string]any {
	cs := clients(*connections)
	const jobs = 50
	var delivered atomic.Int64
	var ready, done sync.WaitGroup
	for i := 0; i < *count; i++ {
		ready.Add(1)
		done.Add(1)
		go func(c pb.TrainerServiceClient) {
			defer done.Done()
			stream, err := c.Watch(context.Background(), &pb.WatchRequest{Selector: &pb.JobSelector{Group: *group}, SkipSnapshot: true})
			check(err)
			_, err = stream.Recv()
			check(err)
			ready.Done()
			for seen := 0; seen < jobs; {
				m, err := stream.Recv()
				check(err)
				if m.GetTransition() != nil {
					seen++
					delivered.Add(1)
				}
			}
		}(cs[i%len(cs)])
	}
	ready.Wait()
	*suspended = true
	s := spec()
	begin := time.Now()
	run(jobs, 8, func(i int) {
		_, err := cs[i%len(cs)].Submit(context.Background(), &pb.SubmitRequest{Spec: s})
		check(err)
	})
	done.Wait()
	took := time.Since(begin)
	return map[string]any{"messages": delivered.Load(), "per_second": float64(delivered.Load()) / took.Seconds()}
}

func main() {
	flag.Parse()
	measure, ok := map[string]func() map[string]any{"submits": submits, "jobs": jobs, "spawns": spawns, "streams": streams, "fanout": fanout}[flag.Arg(0)]
	if !ok {
		fmt.Fprintln(os.Stderr, "usage: bench [flags] submits|jobs|spawns|streams|fanout")
		os.Exit(2)
	}
	text, err := json.Marshal(measure())
	check(err)
	fmt.Println(string(text))
}
