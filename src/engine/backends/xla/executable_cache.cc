#include "engine/backends/xla/executable_cache.h"

#include "base/core/text.h"
#include "base/store/hash.h"
#include "base/store/store.h"

namespace hone::xla {
namespace {

constexpr std::string_view kMagic = "hone xla 1\n";
constexpr size_t kHashSize = 64;

}  // namespace

std::string ExecutableCache::file_of(const std::string& text, const std::string& options) const {
  return fmt::format(
      "{}/{}", folder_,
      sha256_of_text(fmt::format("{}\n{}\n{}", compiler_, sha256_of_text(options), text)));
}

std::optional<std::string> ExecutableCache::read(const std::string& text,
                                                 const std::string& options) const {
  if (!on()) return std::nullopt;
  const Result<std::string> file = file_store().read(file_of(text, options));
  const size_t head = kMagic.size() + kHashSize;
  if (!file.ok() || file->size() < head || !file->starts_with(kMagic)) return std::nullopt;
  std::string executable = file->substr(head);
  if (file->substr(kMagic.size(), kHashSize) != sha256_of_text(executable)) return std::nullopt;
  return executable;
}

Status ExecutableCache::keep(const std::string& text, const std::string& options,
                             const std::string& executable) const {
  HONE_TRY(file_store().make_dirs(folder_));
  return file_store().write(file_of(text, options),
                            fmt::format("{}{}{}", kMagic, sha256_of_text(executable), executable));
}

}  // namespace hone::xla
