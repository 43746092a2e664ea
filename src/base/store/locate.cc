// Which store has a path or URL (store.h).
#include "base/store/errors.h"
#include "base/store/http_store.h"

namespace hone {

Result<Located> locate(const std::string& url) {
  size_t scheme_end = url.find("://");
  if (scheme_end == std::string::npos) return Located{&file_store(), url};
  std::string scheme = url.substr(0, scheme_end);
  if (scheme == "file") return Located{&file_store(), url.substr(scheme_end + 3)};
  if (scheme == "http" || scheme == "https") return Located{&http_store(), url};
  return Error(err::kStoreUnsupported,
               fmt::format("'{}': files cannot be read from or written to {}:// here", url, scheme))
      .todo(scheme == "hf" ? "hf:// names a model: give it to --model_name_or_path"
                           : "use a local path, or http(s):// to read; copy the file here first");
}

}  // namespace hone
