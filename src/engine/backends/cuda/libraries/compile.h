// The kernels for a GPU, compiled by NVRTC (libnvrtc.so, of the CUDA toolkit or its PyPI wheel).
//
//   const KernelCompiler nvrtc = HONE_TRY(KernelCompiler::open());
//   const std::string cubin = HONE_TRY(nvrtc.kernels_for("sm_90"));   // compiled once, then from a file
#pragma once

#include <functional>
#include <map>
#include <string>

#include "base/core/error.h"

namespace hone::cuda {

// The compiler's report on a kernel.
struct KernelUse {
  int registers = 0;    // of a thread
  int64_t spilled = 0;  // bytes that are stored because registers did not suffice
  int64_t shared = 0;   // bytes of a block, without what a launch adds
};

// The file cuda/<name>.cubin in hone's cache folder ($HONE_CACHE, else $XDG_CACHE_HOME/hone, else
// ~/.cache/hone). `make` gives its content the first time; nothing is kept where it cannot be written.
Result<std::string> kept_cubin(const std::string& name,
                               const std::function<Result<std::string>()>& make);

class KernelCompiler {
 public:
  // The library at HONE_NVRTC, else the newest that the system's loader finds and that is not newer
  // than this major version (0: any). Error H1343.
  static Result<KernelCompiler> open(int newest_major = 0);

  // A cubin of all kernels, kept by source, architecture and compiler (kept_cubin). Error H1343.
  Result<std::string> kernels_for(const std::string& architecture) const;

  // Compiles them again, and says what each kernel uses.
  struct Compiled {
    std::string cubin;
    std::map<std::string, KernelUse> uses;
  };
  Result<Compiled> compile(const std::string& architecture) const;

  std::string version() const;  // "13.2"

 private:
  struct Library {
#define HONE_NVRTC(name, arguments) int(*name) arguments = nullptr;
#include "engine/backends/cuda/libraries/nvrtc.def"
#undef HONE_NVRTC
  };
  Library library_;
};

}  // namespace hone::cuda
