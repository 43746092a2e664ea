// One bucket of an object store.
//   std::unique_ptr<Bucket> b = HONE_TRY(open_bucket("gs://models"));
//   ObjectInfo o = *HONE_TRY(b->stat("gpt2/config.json"));
//   HONE_TRY(b->read(o, 0, buffer));                       // of that version, or H0117
//   HONE_TRY(b->put("done", text, {.absent = true}));      // H0118 if it exists already
// Keys are UTF-8 without a leading slash. Several threads may use an object at once. Errors: H0101
// (no such bucket or object), H0102 (not allowed), H0104, H0107, H0108, H0109, H0113 (damaged in
// transfer), H0117, H0118, H0119.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/core/error.h"
#include "base/store/http.h"

namespace hone {

struct ObjectInfo {
  std::string key;
  int64_t bytes = 0;
  std::string version;  // a generation, or an ETag: changes with the content
  std::optional<uint32_t> crc32c = {};
  std::string md5 = {};      // hexadecimal; "": the store has none
  std::string updated = {};  // in the server's form: RFC 3339, or an HTTP date
};

struct ObjectPage {
  std::vector<ObjectInfo> objects;   // sorted by key
  std::vector<std::string> folders;  // with a trailing slash
  // Keys and folders that are not safe (is_safe_key): no URL can name them, and no path may be made
  // of them.
  std::vector<ObjectInfo> unsafe = {};
  std::string next;  // token of the next page, "" after the last
};

// Condition of a write; if it does not hold: H0118 and nothing changes. A request may reach the
// server twice if its first answer is lost, so a write that finds its own bytes counts as done.
// Objects that decide between programs (a lock, a manifest) must therefore differ between them.
struct Condition {
  bool absent = false;       // the object does not exist
  std::string version = "";  // the object still has this version
};

// An object that is written part by part and appears when it is finished. If it is destroyed
// before, nothing is left.
class Upload {
 public:
  virtual ~Upload() = default;
  // Sends part `number` (from 0), which begins at byte `offset`. All have Bucket::part_bytes(),
  // except a shorter `last` one.
  // Several threads may send parts at once if Bucket::streams() is more than 1, else in order.
  virtual Status part(int64_t number, int64_t offset, std::span<const std::byte> bytes,
                      bool last) = 0;
  // Call after all parts. The checksum covers the whole object; H0113 if the server's differs.
  virtual Result<ObjectInfo> finish(int64_t bytes, uint32_t crc32c) = 0;
};

class Bucket {
 public:
  virtual ~Bucket() = default;
  virtual Result<std::optional<ObjectInfo>> stat(const std::string& key) = 0;
  // Reads bytes from `offset` on, of the version in `object`.
  virtual Status read(const ObjectInfo& object, int64_t offset, std::span<std::byte> out) = 0;
  // Lists objects whose keys begin with `prefix`. With `folders`, keys with a further slash are
  // grouped as folders. `page` is ObjectPage::next, "" for the first; returns at most `most`
  // objects.
  virtual Result<ObjectPage> list(const std::string& prefix, bool folders, const std::string& page,
                                  int most = 1000) = 0;
  virtual Result<ObjectInfo> put(const std::string& key, std::span<const std::byte> bytes,
                                 const Condition& condition) = 0;
  virtual Result<std::unique_ptr<Upload>> upload(const std::string& key,
                                                 const Condition& condition) = 0;
  // Deletes an object; H0101 if there is none. `version` comes from stat(), a list or a write: if
  // it is gone already that is fine, and a newer one stays (H0118). An S3 server without
  // conditional deletes may remove the newer one. "": asks for the version first.
  virtual Status remove(const std::string& key, const std::string& version = "") = 0;
  virtual Status copy(const std::string& from, const std::string& to) = 0;  // done by the server
  // Creates the bucket; H0118 if it exists. `region` "": the server's default. Only the bucket's
  // policy controls access, if the store knows other ways too.
  virtual Status make(const std::string& region) = 0;

  virtual int64_t part_bytes(int64_t number) const = 0;  // of part `number` of an upload
  virtual int streams() const { return 4; }              // useful number of parts in flight
};

// A kind of store. Each is one file of this shelf:  ObjectScheme scheme_gs() { ... }
struct ObjectScheme {
  std::vector<std::string> names;  // schemes of URLs: "gs", ...
  // The bucket of "<scheme>://<authority>", without the rest. H0106 if `authority` cannot be one.
  Result<std::unique_ptr<Bucket>> (*open)(const std::string& scheme, const std::string& authority,
                                          const HttpClient::Options& http) = nullptr;
};
std::vector<ObjectScheme> all_scheme();  // generated from the folder

// Whether `key` is a path without empty parts at its beginning, "." and "..". A listing must not
// lead out of the folder that it is copied to.
bool is_safe_key(std::string_view key);

// A URL in two parts: the bucket, and the key after it ("": none).
struct ObjectUrl {
  std::string bucket, key;
  const ObjectScheme* scheme = nullptr;
};
// Nullopt: not a URL of an object store. H0106: the key is not a path (with "." or ".." in it).
Result<std::optional<ObjectUrl>> parse_object_url(const std::string& url);

// The bucket of "gs://name"; created once, kept until the program ends.
Result<Bucket*> open_bucket(const ObjectUrl& url);

}  // namespace hone
