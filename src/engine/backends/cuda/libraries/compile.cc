#include "engine/backends/cuda/libraries/compile.h"

#include "base/core/hash.h"
#include "base/core/log.h"
#include "base/core/text.h"
#include "base/store/store.h"
#include "engine/backends/cuda/kernels/source.h"
#include "engine/backends/cuda/libraries/errors.h"
#include "engine/backends/cuda/libraries/library.h"

namespace hone::cuda {
namespace {

constexpr const char* kCompilerNames[] = {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"};

Error no_kernels(const std::string& text) {
  return Error(err::kNoKernels, text)
      .todo(
          "make cuda; or install the CUDA toolkit, or the wheel nvidia-cuda-nvrtc and set "
          "HONE_NVRTC to its libnvrtc.so");
}

// The number before `what` in a line of ptxas' report, or 0.
int64_t number_before(std::string_view line, std::string_view what) {
  const size_t end = line.find(what);
  if (end == line.npos) return 0;
  size_t begin = end;
  while (begin > 0 && line[begin - 1] >= '0' && line[begin - 1] <= '9') --begin;
  return begin == end ? 0 : std::stoll(std::string(line.substr(begin, end - begin)));
}

// From lines such as "ptxas info : Compiling entry function 'exp_f32' for 'sm_90'" and what
// follows.
std::map<std::string, KernelUse> uses_of(std::string_view log) {
  constexpr std::string_view kBegins = "Compiling entry function '";
  std::map<std::string, KernelUse> uses;
  KernelUse* use = nullptr;
  while (!log.empty()) {
    const std::string_view line = log.substr(0, log.find('\n'));
    log.remove_prefix(std::min(line.size() + 1, log.size()));
    if (const size_t at = line.find(kBegins); at != line.npos) {
      const std::string_view rest = line.substr(at + kBegins.size());
      use = &uses[std::string(rest.substr(0, rest.find('\'')))];
    }
    if (use == nullptr) continue;
    use->spilled += number_before(line, " bytes spill stores");
    use->registers += static_cast<int>(number_before(line, " registers"));
    use->shared += number_before(line, " bytes smem");
  }
  return uses;
}

}  // namespace

Result<KernelCompiler> KernelCompiler::open(int newest_major) {
  std::string why;
  const std::optional<Module> library =
      load_library("HONE_NVRTC", kCompilerNames, newest_major, why);
  if (!library) return no_kernels(why);
  load_beside(*library, "libnvrtc-builtins.so");
  KernelCompiler compiler;
#define HONE_NVRTC(name, arguments)                                  \
  compiler.library_.name = library->symbol<int(*) arguments>(#name); \
  if (compiler.library_.name == nullptr) return no_kernels("libnvrtc.so has no " #name);
#include "engine/backends/cuda/libraries/nvrtc.def"
#undef HONE_NVRTC
  return compiler;
}

std::string KernelCompiler::version() const {
  int major = 0, minor = 0;
  library_.nvrtcVersion(&major, &minor);
  return fmt::format("{}.{}", major, minor);
}

Result<KernelCompiler::Compiled> KernelCompiler::compile(const std::string& architecture) const {
  const Library& n = library_;
  const std::string source(kernel_source());
  void* program = nullptr;
  if (n.nvrtcCreateProgram(&program, source.c_str(), "kernels.cu", 0, nullptr, nullptr) != 0)
    return no_kernels("NVRTC refuses to begin");
  struct Destroy {
    const Library& n;
    void*& program;
    ~Destroy() { n.nvrtcDestroyProgram(&program); }
  } destroy{n, program};
  const std::string arch = "--gpu-architecture=" + architecture;
  // Not by several threads (--split-compile): what they make of a kernel is not always the same.
  const char* options[] = {arch.c_str(), "--std=c++17", "--ptxas-options=-v"};
  const int result = n.nvrtcCompileProgram(program, 3, options);
  size_t bytes = 0;
  n.nvrtcGetProgramLogSize(program, &bytes);
  std::string log(bytes, '\0');
  n.nvrtcGetProgramLog(program, log.data());
  if (result != 0)
    return no_kernels(fmt::format("NVRTC {} does not compile the kernels for {}: {}", version(),
                                  architecture, log.substr(0, 400)));
  Compiled c;
  c.uses = uses_of(log);
  n.nvrtcGetCUBINSize(program, &bytes);
  c.cubin.resize(bytes);
  n.nvrtcGetCUBIN(program, c.cubin.data());
  return c;
}

Result<std::string> kept_cubin(const std::string& name,
                               const std::function<Result<std::string>()>& make) {
  const std::string folder = cache_folder() + "/cuda", path = folder + "/" + name + ".cubin";
  Store& store = file_store();
  if (Result<std::string> kept = store.read(path); kept.ok() && !kept->empty())
    return std::move(kept.value());
  std::string cubin = HONE_TRY(make());
  Status written = store.make_dirs(folder);
  if (written.ok()) written = store.write(path, cubin);
  if (!written.ok()) log_debug("the kernels are not kept: {}", written.error().what());
  return cubin;
}

Result<std::string> KernelCompiler::kernels_for(const std::string& architecture) const {
  const uint64_t hash = fnv1a(fmt::format("{}\n{}\n{}", version(), architecture, kernel_source()));
  return kept_cubin(fmt::format("{:016x}", hash), [&]() -> Result<std::string> {
    log_info("compiling the kernels for {}, which is done once and takes about a minute",
             architecture);
    return HONE_TRY(compile(architecture)).cubin;
  });
}

}  // namespace hone::cuda
