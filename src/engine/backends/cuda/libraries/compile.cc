#include "engine/backends/cuda/libraries/compile.h"

#include <algorithm>
#include <mutex>
#include <optional>

#include "base/core/hash.h"
#include "base/core/log.h"
#include "base/core/text.h"
#include "base/core/threads.h"
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

KernelModule module_of(KernelCompiler::Compiled&& c) {
  KernelModule m;
  m.cubin = std::move(c.cubin);
  for (const auto& [name, use] : c.uses) m.kernels.push_back(name);
  return m;
}

// The text of all kernels, of which code is made for those of these names, or for all.
std::string source_of(const std::set<std::string>& names) {
  std::string text;
  if (names.empty()) text = "#define HONE_EVERY_KERNEL\n";
  for (const std::string& name : names)
    text += fmt::format("#define HONE_WANT_{} ~, HONE_WANTED\n", name);
  return text.append(kernel_source());
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

Result<KernelCompiler::Compiled> KernelCompiler::compile(const std::string& architecture,
                                                         const std::set<std::string>& names,
                                                         Code code) const {
  const Library& n = library_;
  const std::string source = source_of(names);
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
  std::vector<const char*> options{arch.c_str(), "--std=c++17", "--ptxas-options=-v"};
  if (code == Code::plain) options.push_back("--Ofast-compile=max");
  const int result =
      n.nvrtcCompileProgram(program, static_cast<int>(options.size()), options.data());
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

std::string KernelCompiler::folder_for(const std::string& architecture) const {
  const uint64_t hash = fnv1a(fmt::format("{}\n{}\n{}", version(), architecture, kernel_source()));
  return fmt::format("{}/cuda/{:016x}", cache_folder(), hash);
}

// A thread compiles a share of the kernels; neighbours by name, which take as long, go to different
// threads.
Result<std::vector<KernelModule>> KernelCompiler::compile_by_threads(
    const std::string& architecture, const std::set<std::string>& names) const {
  constexpr size_t kFewest = 4;  // kernels of a thread: each thread reads the whole source
  const size_t threads =
      std::clamp<size_t>(names.size() / kFewest, 1, static_cast<size_t>(usable_cores()));
  std::vector<std::set<std::string>> shares(threads);
  size_t next = 0;
  for (const std::string& name : names) shares[next++ % threads].insert(name);

  Progress bar("compiling", static_cast<int64_t>(names.size()));
  std::mutex one_at_a_time;
  int64_t done = 0;
  std::vector<std::optional<Result<Compiled>>> made(threads);
  ThreadPool(static_cast<int>(threads)).run([&](int thread) {
    const auto i = static_cast<size_t>(thread);
    made[i] = compile(architecture, shares[i]);
    const std::lock_guard lock(one_at_a_time);
    bar.update(done += static_cast<int64_t>(shares[i].size()));
  });
  std::vector<KernelModule> modules;
  for (auto& m : made) modules.push_back(module_of(HONE_TRY(std::move(*m))));
  return modules;
}

Result<std::vector<KernelModule>> KernelCompiler::kernels_for(const std::string& architecture,
                                                              std::set<std::string> names) const {
  const std::string folder = folder_for(architecture);
  std::vector<KernelModule> modules = kept_kernels(folder, names);
  if (names.empty()) return modules;
  log_info("compiling {} kernels for {}, which is done once", names.size(), architecture);
  for (KernelModule& m : HONE_TRY(compile_by_threads(architecture, names))) {
    if (Status kept = keep_kernels(folder, m); !kept.ok())
      log_debug("kernels are not kept: {}", kept.error().what());
    modules.push_back(std::move(m));
  }
  return modules;
}

Status KernelCompiler::keep_all(const std::string& architecture) const {
  const std::string folder = folder_for(architecture);
  if (has_all_kernels(folder)) return Ok{};
  KernelModule all = module_of(HONE_TRY(compile(architecture)));
  return keep_all_kernels(folder, all);
}

}  // namespace hone::cuda
