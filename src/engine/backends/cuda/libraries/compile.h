// Compiles hone's CUDA kernels with NVRTC (libnvrtc.so, of the CUDA toolkit or its PyPI wheel).
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
  int registers = 0;    // for each thread
  int64_t spilled = 0;  // bytes that are stored in memory because there are too few registers
  int64_t shared = 0;   // bytes of static shared memory for each block
};

class KernelCompiler {
 public:
  // Loads NVRTC from the path in the environment variable HONE_NVRTC, else the newest version that the system's loader
  // finds. newest_major: major versions above it are skipped; 0: no version is skipped. Error H1343: NVRTC is missing
  // or lacks a function.
  static Result<KernelCompiler> open(int newest_major = 0);

  // Returns modules that together contain the kernels of these names. Kernels that are not in the folder cuda/ of
  // hone's cache ($HONE_CACHE, else $XDG_CACHE_HOME/hone, else ~/.cache/hone) are compiled by several threads, and
  // kept there if the folder can be written. Error H1343: a kernel cannot be compiled.
  Result<std::vector<KernelModule>> kernels_for(const std::string& architecture,
                                                std::set<std::string> names) const;
  // Compiles all kernels into the cache, unless the cache has them. Errors: H1343 a kernel cannot be compiled; errors
  // of writing the folder.
  Status keep_all(const std::string& architecture) const;

  // fast: optimized code. plain: compiles in a tenth of the time with NVRTC 13, to check the source.
  enum class Code { fast, plain };
  struct Compiled {
    std::string cubin;                      // the binary that cuModuleLoadData takes
    std::map<std::string, KernelUse> uses;  // by kernel
  };
  // Compiles the kernels of these names, or all if `names` is empty, without the cache. Error H1343: a kernel cannot be
  // compiled.
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
