#include "operate/registry/pinned_files.h"

#include "base/store/hash.h"
#include "base/store/objects/bucket.h"
#include "base/store/places/transfer.h"
#include "base/store/store.h"
#include "operate/registry/errors.h"

namespace hone {
namespace {

Result<std::optional<ObjectInfo>> object_at(const ObjectUrl& folder, const std::string& file) {
  return HONE_TRY(open_bucket(folder))->stat(folder.key.empty() ? file : folder.key + "/" + file);
}

OrderedJson pin_of(const std::string& file, const ObjectInfo& object) {
  OrderedJson pin = {{"file", file}, {"bytes", object.bytes}};
  if (!object.version.empty()) pin["version"] = object.version;
  if (object.crc32c) pin["crc32c"] = *object.crc32c;
  if (!object.md5.empty()) pin["md5"] = object.md5;
  return pin;
}

// An object that was written again with the same bytes has another version.
bool is_pinned(const OrderedJson& pin, const OrderedJson& now) {
  if (pin == now) return true;
  if (value_at(pin, "bytes") != value_at(now, "bytes")) return false;
  for (const char* sum : {"crc32c", "md5"})
    if (pin.contains(sum) && now.contains(sum)) return pin.at(sum) == now.at(sum);
  return false;
}

Error has_changed(const std::string& what, const std::string& source) {
  return Error(err::kModelChanged, what)
      .at(source)
      .todo("bring the files back, or register what is there as a new version");
}

}  // namespace

Result<OrderedJson> pin_files(const std::string& source, const std::vector<std::string>& files) {
  OrderedJson pins = OrderedJson::array();
  const std::optional<ObjectUrl> url = HONE_TRY(parse_object_url(source));
  if (!url) return pins;
  for (const std::string& file : files)
    if (const auto object = HONE_TRY(object_at(*url, file))) pins.push_back(pin_of(file, *object));
  return pins;
}

Status check_pinned(const ModelVersion& v) {
  const std::optional<ObjectUrl> url = HONE_TRY(parse_object_url(v.source));
  if (!url) return Ok{};
  for (const OrderedJson& pin : v.files) {
    const std::string file = text_at(pin, "file");
    const auto object = HONE_TRY(object_at(*url, file));
    if (!object)
      return has_changed(fmt::format("'{}' of {} is gone", file, v.reference()), v.source);
    if (!is_pinned(pin, pin_of(file, *object)))
      return has_changed(
          fmt::format("'{}' of {} is not the file that was registered", file, v.reference()),
          v.source);
  }
  return Ok{};
}

Status check_published(const std::string& folder, const std::string& url,
                       const std::vector<std::string>& files) {
  Store& store = file_store();
  for (const std::string& file : files) {
    const std::string here = folder + "/" + file, there = url + "/" + file;
    if (!HONE_TRY(store.exists(there)))
      return has_changed(fmt::format("'{}' is not in the bucket", file), url);
    if (HONE_TRY(have_same_bytes(store, here, there))) continue;
    // A store may know no checksum of an object.
    const std::string mine = HONE_TRY(sha256_of_file(store, here));
    if (mine != HONE_TRY(sha256_of_file(store, there)))
      return has_changed(fmt::format("'{}' in the bucket is not the one of '{}'", file, folder),
                         url);
  }
  return Ok{};
}

}  // namespace hone
