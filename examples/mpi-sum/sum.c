// Numbers around a ring and a sum over all ranks, checked against what they must be. Any wrong result ends the job.
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { SLICES = 4000000, NUMBERS = 10000 };

static void check(int ok, const char *what, int rank) {
    if (!ok) {
        fprintf(stderr, "wrong: %s on rank %d\n", what, rank);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
}

// Each rank passes on what it got, with its own number added: the last one has the sum of all.
static void ring(int rank, int size) {
    int token = 0;
    if (rank > 0) {
        MPI_Recv(&token, 1, MPI_INT, rank - 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    token += rank;
    MPI_Send(&token, 1, MPI_INT, (rank + 1) % size, 0, MPI_COMM_WORLD);
    if (rank == 0) {
        MPI_Recv(&token, 1, MPI_INT, size - 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        check(token == size * (size - 1) / 2, "the token of the ring", rank);
    }
}

static void vector_sum(int rank, int size) {
    static double mine[NUMBERS], all[NUMBERS];
    for (int i = 0; i < NUMBERS; i++) {
        mine[i] = (double)(i + 1) * (rank + 1);
    }
    MPI_Allreduce(mine, all, NUMBERS, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    for (int i = 0; i < NUMBERS; i++) {
        check(all[i] == (double)(i + 1) * size * (size + 1) / 2, "the sum of the vectors", rank);
    }
}

// The integral of 4 / (1 + x^2) from 0 to 1, each rank with every size-th slice.
static double pi(int rank, int size) {
    double part = 0;
    double whole = 0;
    for (int i = rank; i < SLICES; i += size) {
        double x = (i + 0.5) / SLICES;
        part += 4 / (1 + x * x) / SLICES;
    }
    MPI_Allreduce(&part, &whole, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    check(fabs(whole - acos(-1.0)) < 1e-9, "pi", rank);
    return whole;
}

int main(int argc, char **argv) {
    int rank;
    int size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    check(argc < 2 || size == atoi(argv[1]), "the number of ranks", rank);
    ring(rank, size);
    vector_sum(rank, size);
    double value = pi(rank, size);
    printf("rank %d of %d: ring, vectors and pi = %.10f are right\n", rank, size, value);
    MPI_Finalize();
    return 0;
}
