module github.com/trainerd/trainerd/tests/go

go 1.23

require (
	github.com/trainerd/trainerd/gen/go v0.0.0
	google.golang.org/grpc v1.71.0
	google.golang.org/protobuf v1.36.5
)

replace github.com/trainerd/trainerd/gen/go => ../../gen/go
