#include "base/store/places/places.h"

#include "base/core/text.h"
#include "base/store/errors.h"
#include "base/store/http_store.h"
#include "base/store/places/hub_store.h"
#include "base/store/places/object_store.h"

namespace hone {

Places::Places(Store& disk) : disk_(disk), objects_(std::make_unique<ObjectStore>()) {
  read_urls_with([](const std::string& url) { return file_store().read(url); });
}
Places::~Places() { read_urls_with(nullptr); }

Result<Places::At> Places::at(const std::string& path) {
  const size_t colon = path.find("://");
  if (colon == std::string::npos) return At{&disk_, path};
  const std::string scheme = path.substr(0, colon);
  if (scheme == "file") return At{&disk_, path.substr(colon + 3)};
  if (scheme == "http" || scheme == "https") return At{&http_store(), path};
  if (scheme == "hf") return At{&hub_store(), path};
  if (HONE_TRY(parse_object_url(path))) return At{objects_.get(), path};
  return Error(err::kStoreUnsupported, fmt::format("'{}': hone does not know {}://", path, scheme))
      .todo("use a path, gs://, s3://, az://, abfss:// or hf://, or http(s):// to read");
}

Result<Store::Info> Places::info(const std::string& path) {
  const At a = HONE_TRY(at(path));
  return a.store->info(a.path);
}
Result<std::unique_ptr<Reader>> Places::open(const std::string& path) {
  const At a = HONE_TRY(at(path));
  return a.store->open(a.path);
}
Result<std::vector<Store::Entry>> Places::list(const std::string& folder) {
  const At a = HONE_TRY(at(folder));
  return a.store->list(a.path);
}
Result<std::unique_ptr<Writer>> Places::create(const std::string& path) {
  const At a = HONE_TRY(at(path));
  return a.store->create(a.path);
}
Result<std::unique_ptr<Writer>> Places::create_new(const std::string& path) {
  const At a = HONE_TRY(at(path));
  return a.store->create_new(a.path);
}
Result<std::unique_ptr<Writer>> Places::append(const std::string& path) {
  const At a = HONE_TRY(at(path));
  return a.store->append(a.path);
}
Status Places::rename(const std::string& from, const std::string& to) {
  const At a = HONE_TRY(at(from)), b = HONE_TRY(at(to));
  if (a.store != b.store)
    return Error(err::kStoreUnsupported,
                 fmt::format("'{}' and '{}' are in different stores", from, to))
        .todo("copy with 'hone store cp'");
  return a.store->rename(a.path, b.path);
}
Status Places::copy(const std::string& from, const std::string& to) {
  const At a = HONE_TRY(at(from)), b = HONE_TRY(at(to));
  return a.store == b.store ? a.store->copy(a.path, b.path) : Store::copy(from, to);
}
Status Places::remove(const std::string& path) {
  const At a = HONE_TRY(at(path));
  return a.store->remove(a.path);
}
Status Places::remove_all(const std::string& path) {
  const At a = HONE_TRY(at(path));
  return a.store->remove_all(a.path);
}
Status Places::make_dirs(const std::string& path) {
  const At a = HONE_TRY(at(path));
  return a.store->make_dirs(a.path);
}
Status Places::remove_unfinished(const std::string& folder) {
  const At a = HONE_TRY(at(folder));
  return a.store->remove_unfinished(a.path);
}
bool Places::renames_folders_at_once(const std::string& path) {
  const Result<At> a = at(path);
  return a.ok() && a->store->renames_folders_at_once(a->path);
}

}  // namespace hone
