// The kernels for a GPU, compiled by NVRTC (libnvrtc.so, of the CUDA toolkit or its PyPI wheel).
//
//   const KernelCompiler nvrtc = HONE_TRY(KernelCompiler::open());
//   auto modules = HONE_TRY(nvrtc.kernels_for("sm_90", {"exp_f32"}));   // compiled once, then from files
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/core/error.h"
#include "engine/backends/cuda/libraries/kept_kernels.h"

namespace hone::cuda {

// The compiler's report on a kernel.
struct KernelUse {
  int registers = 0;    // of a thread
  int64_t spilled = 0;  // bytes that are stored because registers did not suffice
  int64_t shared = 0;   // bytes of a block, without what a launch adds
};

class KernelCompiler {
 public:
  // The library at HONE_NVRTC, else the newest that the system's loader finds and that is not newer
  // than this major version (0: any). Error H1343.
  static Result<KernelCompiler> open(int newest_major = 0);

  // Modules that have the kernels of these names. Missing ones are compiled by several threads and
  // kept in the folder cuda/ of hone's cache ($HONE_CACHE, else $XDG_CACHE_HOME/hone, else
  // ~/.cache/hone), if it can be written. Error H1343.
  Result<std::vector<KernelModule>> kernels_for(const std::string& architecture,
                                                std::set<std::string> names) const;
  // Compiles all kernels and keeps them, if they are not kept. Errors: H1343, those of the folder.
  Status keep_all(const std::string& architecture) const;

  // Compiles the kernels of these names, or all if there are none, and says what each uses. Plain
  // code takes a tenth of the time, for a check of the text (NVRTC 13).
  enum class Code { fast, plain };
  struct Compiled {
    std::string cubin;
    std::map<std::string, KernelUse> uses;
  };
  Result<Compiled> compile(const std::string& architecture, const std::set<std::string>& names = {},
                           Code code = Code::fast) const;

  std::string version() const;  // "13.2"

 private:
  std::string folder_for(const std::string& architecture) const;  // of kept modules
  Result<std::vector<KernelModule>> compile_by_threads(const std::string& architecture,
                                                       const std::set<std::string>& names) const;

  struct Library {
#define HONE_NVRTC(name, arguments) int(*name) arguments = nullptr;
#include "engine/backends/cuda/libraries/nvrtc.def"
#undef HONE_NVRTC
  };
  Library library_;
};

}  // namespace hone::cuda
