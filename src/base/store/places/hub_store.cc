#include "base/store/places/hub_store.h"

#include <mutex>

#include "base/core/text.h"
#include "base/store/errors.h"
#include "base/store/hub_repository.h"

namespace hone {
namespace {

struct HubPlace {
  HubRepository* repository;
  std::string path;  // in it, "" = all of it
};

Error hub_is_read_only(const std::string& url) {
  return Error(err::kStoreUnsupported, fmt::format("{}: the hub can be read, not written", url))
      .todo("write to a folder or a bucket");
}

class HubStore : public Store {
 public:
  Result<Info> info(const std::string& url) override {
    const HubPlace p = HONE_TRY(place(url));
    if (p.repository->has(p.path)) {
      const std::unique_ptr<Reader> file = HONE_TRY(open(url));
      return Info{true, false, file->bytes()};
    }
    const bool folder = !HONE_TRY(list_of(p)).empty();
    return Info{folder, folder, 0};
  }
  Result<std::unique_ptr<Reader>> open(const std::string& url) override {
    const HubPlace p = HONE_TRY(place(url));
    if (!p.repository->has(p.path))
      return Error(err::kStoreMissing, fmt::format("{} does not exist", url))
          .todo("check the name; 'hone store ls' lists the names");
    std::string local;
    {
      std::lock_guard lock(mutex_);
      local = HONE_TRY(p.repository->file(p.path));
    }
    return file_store().open(local);
  }
  Result<std::vector<Entry>> list(const std::string& url) override {
    const HubPlace p = HONE_TRY(place(url));
    std::vector<Entry> entries = HONE_TRY(list_of(p));
    if (entries.empty())
      return Error(err::kStoreMissing, fmt::format("{} does not exist", url))
          .todo("check the name");
    return entries;
  }
  Result<std::unique_ptr<Writer>> create(const std::string& url) override {
    return hub_is_read_only(url);
  }
  Result<std::unique_ptr<Writer>> append(const std::string& url) override {
    return hub_is_read_only(url);
  }
  Status rename(const std::string& url, const std::string&) override {
    return hub_is_read_only(url);
  }
  Status remove(const std::string& url) override { return hub_is_read_only(url); }
  Status remove_all(const std::string& url) override { return hub_is_read_only(url); }
  Status make_dirs(const std::string& url) override { return hub_is_read_only(url); }
  Status remove_unfinished(const std::string& url) override { return hub_is_read_only(url); }

 private:
  // "hf://datasets/org/name@rev/a/b": the repository is the first two parts after the kind.
  Result<HubPlace> place(const std::string& url) {
    std::vector<std::string> parts;
    for (std::string& part : split(url.substr(url.find("://") + 3), '/'))
      if (!part.empty()) parts.push_back(std::move(part));
    const bool data = !parts.empty() && parts[0] == "datasets";
    const size_t first = data || (!parts.empty() && parts[0] == "models") ? 1 : 0;
    if (parts.size() < first + 2)
      return Error(err::kStoreUnsupported, fmt::format("'{}' names no repository", url))
          .todo("write hf://ORG/NAME/FILE or hf://datasets/ORG/NAME/FILE");
    const std::string name = parts[first] + "/" + parts[first + 1];
    const std::string path =
        join({parts.begin() + static_cast<std::ptrdiff_t>(first) + 2, parts.end()}, "/");
    std::lock_guard lock(mutex_);
    std::unique_ptr<HubRepository>& r = open_[(data ? "datasets/" : "") + name];
    if (!r) {
      HubOptions options;
      options.progress = false;
      r = std::make_unique<HubRepository>(
          HONE_TRY(HubRepository::open(data ? HubKind::kDataset : HubKind::kModel, name, options)));
    }
    return HubPlace{r.get(), path};
  }
  Result<std::vector<Entry>> list_of(const HubPlace& p) {
    const std::string folder = p.path.empty() ? "" : p.path + "/";
    std::map<std::string, bool> names;
    for (const std::string& file : p.repository->files()) {
      if (!file.starts_with(folder)) continue;
      const size_t slash = file.find('/', folder.size());
      names[file.substr(folder.size(), slash - folder.size())] = slash != std::string::npos;
    }
    std::vector<Entry> entries;
    for (const auto& [name, is_folder] : names) entries.push_back({name, is_folder, -1});
    return entries;
  }

  std::mutex mutex_;
  std::map<std::string, std::unique_ptr<HubRepository>> open_;
};

}  // namespace

Store& hub_store() {
  static HubStore store;
  return store;
}

}  // namespace hone
