#include "engine/backends/cuda/libraries/kept_kernels.h"

#include <optional>

#include "base/core/hash.h"
#include "base/core/text.h"
#include "base/store/store.h"

namespace hone::cuda {
namespace {

constexpr std::string_view kFirstLine = "kernels: ", kEnding = ".kernels", kAll = "all";

std::optional<KernelModule> kept_module(std::string_view text) {
  const size_t end = text.find('\n');
  if (!text.starts_with(kFirstLine) || end == text.npos) return std::nullopt;
  KernelModule m{split(text.substr(kFirstLine.size(), end - kFirstLine.size()), ' '),
                 std::string(text.substr(end + 1))};
  if (m.cubin.empty()) return std::nullopt;
  return m;
}

Status write_module(const std::string& folder, std::string_view file, const KernelModule& m) {
  Store& store = file_store();
  HONE_TRY(store.make_dirs(folder));
  return store.write(fmt::format("{}/{}{}", folder, file, kEnding),
                     fmt::format("{}{}\n{}", kFirstLine, join(m.kernels, " "), m.cubin));
}

}  // namespace

std::vector<KernelModule> kept_kernels(const std::string& folder, std::set<std::string>& names) {
  std::vector<KernelModule> found;
  Store& store = file_store();
  for (const std::string& file : names_in(folder)) {
    if (names.empty()) break;
    if (!file.ends_with(kEnding)) continue;
    const Result<std::string> text = store.read(folder + "/" + file);
    std::optional<KernelModule> m = text.ok() ? kept_module(*text) : std::nullopt;
    if (!m) continue;
    size_t taken = 0;
    for (const std::string& kernel : m->kernels) taken += names.erase(kernel);
    if (taken > 0) found.push_back(std::move(*m));
  }
  return found;
}

Status keep_kernels(const std::string& folder, const KernelModule& module) {
  const uint64_t names = fnv1a(join(module.kernels, " "));
  return write_module(folder, fmt::format("{:016x}", names), module);
}

Status keep_all_kernels(const std::string& folder, const KernelModule& module) {
  return write_module(folder, kAll, module);
}
bool has_all_kernels(const std::string& folder) {
  return path_exists(fmt::format("{}/{}{}", folder, kAll, kEnding));
}

}  // namespace hone::cuda
