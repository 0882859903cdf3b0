# One image, three programs. Two ways to the same result:
#   docker build .                     compiles here, needs the builder image from a registry
#   make images                        takes the programs that make compiled, needs no registry

FROM scratch AS prebuilt
COPY bin/image/ /
USER 65532:65532
ENTRYPOINT ["/offramp-controller"]

FROM golang:1.26 AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
RUN CGO_ENABLED=0 go build -trimpath -ldflags '-s -w' -o /out/ ./cmd/...

FROM scratch
COPY --from=build /out/ /
USER 65532:65532
ENTRYPOINT ["/offramp-controller"]
