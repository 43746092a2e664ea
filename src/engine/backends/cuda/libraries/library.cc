#include "engine/backends/cuda/libraries/library.h"

#include <filesystem>

#include "base/core/text.h"

namespace hone::cuda {

std::optional<Module> load_library(const char* variable, std::span<const char* const> names,
                                   int newest_major, std::string& why) {
  if (const std::string own = environment(variable); !own.empty()) {
    Result<Module> named = load_module(own);
    if (named.ok()) return *named;
    why = fmt::format("{}: {}", variable, named.error().what());
    return std::nullopt;
  }
  const auto major_of = [](const std::string& name) {
    const size_t at = name.rfind(".so.");
    return at == name.npos ? 0 : std::atoi(name.c_str() + at + 4);
  };
  for (const char* name : names) {
    if (newest_major > 0 && major_of(name) > newest_major) continue;
    if (Result<Module> found = load_module(name); found.ok()) return *found;
  }
  why = fmt::format("there is no {}{}", names.back(),
                    newest_major > 0 ? fmt::format(" for a driver of CUDA {}", newest_major) : "");
  return std::nullopt;
}

void load_beside(const Module& library, std::string_view prefix) {
  std::error_code failed;
  for (const auto& entry : std::filesystem::directory_iterator(library.folder(), failed))
    if (entry.path().filename().string().starts_with(prefix))
      (void)load_module(entry.path().string());
}

}  // namespace hone::cuda
