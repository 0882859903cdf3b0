# Sourced by what builds programs of other projects from their published Go modules.
# wrapper makes a module that requires theirs; build compiles packages of it, static and stripped.

goversion() { go env GOVERSION GOARCH | tr '\n' '-' | sed 's/-$//'; }

module_file() { # module_file DIR MODULE VERSION FIELD: a path (GoMod, Dir) of a module in the module cache
  (cd "$1" && GOFLAGS=-mod=mod go mod download -json "$2@$3" | sed -n "s/^[[:space:]]*\"$4\": \"\(.*\)\",*\$/\1/p")
}

wrapper() { # wrapper DIR MODULE VERSION: a module that requires MODULE and carries its replaces
  local dir=$1 mod=$2 ver=$3 gomod
  mkdir -p "$dir"
  gomod=$(module_file "$dir" "$mod" "$ver" GoMod)
  {
    printf 'module offramp.dev/assets\n\ngo 1.26.0\n\nrequire %s %s\n' "$mod" "$ver"
    # Kubernetes publishes its staging modules with the same minor and patch as the release.
    [ "$mod" != k8s.io/kubernetes ] ||
      sed -n "s#^[[:space:]]*\(k8s.io/[a-z-]*\) => ./staging/.*#replace \1 => \1 v0.${ver#v1.}#p" "$gomod"
  } >"$dir/go.mod"
}

imports() { # imports DIR PACKAGE...: makes the wrapper need the packages, and resolves them
  local dir=$1
  shift
  { printf '//go:build tools\n\npackage assets\n\nimport (\n'; printf '\t_ "%s"\n' "$@"; printf ')\n'; } >"$dir/tools.go"
  (cd "$dir" && go mod tidy -e >tidy.log 2>&1 || true)
}

build() { # build DIR PACKAGE OUTPUT LDFLAGS: nothing where OUTPUT is there
  local dir=$1 pkg=$2 bin=$3 flags=$4
  [ ! -x "$bin" ] || return 0
  mkdir -p "$(dirname "$bin")"
  say "building $(basename "$bin") from $pkg (minutes when cold)"
  (cd "$dir" && CGO_ENABLED=0 go build -trimpath -ldflags "-s -w $flags" -o "$bin.partial" "$pkg") && mv "$bin.partial" "$bin"
}

kubernetes_flags() { # kubernetes_flags VERSION: what makes a Kubernetes program say its version
  local v=k8s.io/component-base/version minor=${1#v1.}
  printf -- '-X %s.gitVersion=%s -X %s.gitMajor=1 -X %s.gitMinor=%s -X %s.gitTreeState=clean -X %s.gitCommit=%040d' \
    "$v" "$1" "$v" "$v" "${minor%%.*}" "$v" "$v" 0
}
