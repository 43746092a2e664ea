// One bucket of an object store.
//
//   std::unique_ptr<Bucket> b = HONE_TRY(open_bucket("gs://models"));
//   ObjectInfo o = *HONE_TRY(b->stat("gpt2/config.json"));
//   HONE_TRY(b->read(o, 0, buffer));                       // of that version, or H0117
//   HONE_TRY(b->put("done", text, {.absent = true}));      // H0118 when it is there already
//
// Keys are UTF-8 without a slash at the beginning. Objects may be used from several threads at once.
// Errors: H0101 (no such bucket or object), H0102 (not allowed), H0104, H0107, H0108, H0109, H0113
// (damaged on its way), H0117, H0118, H0119.
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
  std::string md5 = {};      // hexadecimal; "" where the store has none
  std::string updated = {};  // as the server writes it: RFC 3339, or an HTTP date
};

struct ObjectPage {
  std::vector<ObjectInfo> objects;   // sorted by key
  std::vector<std::string> folders;  // with the slash at their end
  std::string next;                  // how to ask for the next page, "" after the last
};

// What must hold for a write to be done; else H0118 and nothing is changed. A request may reach the
// server twice when its first answer is lost. So a write that finds its own bytes there counts as done:
// what decides between programs (a lock, a manifest) must differ between them.
struct Condition {
  bool absent = false;       // there is no such object
  std::string version = "";  // the object is still this one
};

// An object that is written part by part and appears when it is finished. Destroyed before, it leaves
// nothing.
class Upload {
 public:
  virtual ~Upload() = default;
  // Part `number` (from 0) that begins at byte `offset`. All have Bucket::part_bytes() but one that is
  // the `last`, which there is only when it is shorter.
  // Several threads may send parts at once when Bucket::streams() is more than 1, else in order.
  virtual Status part(int64_t number, int64_t offset, std::span<const std::byte> bytes,
                      bool last) = 0;
  // After all parts. The checksum is of the whole; H0113 when the server has another.
  virtual Result<ObjectInfo> finish(int64_t bytes, uint32_t crc32c) = 0;
};

class Bucket {
 public:
  virtual ~Bucket() = default;
  virtual Result<std::optional<ObjectInfo>> stat(const std::string& key) = 0;
  // Bytes from `offset` on, of the version that `object` says.
  virtual Status read(const ObjectInfo& object, int64_t offset, std::span<std::byte> out) = 0;
  // Objects whose keys begin with `prefix`. With `folders`, those with a further slash are put together
  // as folders. `page` is ObjectPage::next, "" for the first; `most` objects at most.
  virtual Result<ObjectPage> list(const std::string& prefix, bool folders, const std::string& page,
                                  int most = 1000) = 0;
  virtual Result<ObjectInfo> put(const std::string& key, std::span<const std::byte> bytes,
                                 const Condition& condition) = 0;
  virtual Result<std::unique_ptr<Upload>> upload(const std::string& key,
                                                 const Condition& condition) = 0;
  // H0101 when there is none. `version` is what stat(), a list or a write said: when it is gone that is
  // fine, and another one stays (H0118). An S3 server that does not know conditional deletes may remove
  // the other one. "" asks first.
  virtual Status remove(const std::string& key, const std::string& version = "") = 0;
  virtual Status copy(const std::string& from, const std::string& to) = 0;  // by the server
  // Makes the bucket; H0118 when it is there. `region` is "" for the server's own choice. Access is
  // by the bucket's policy alone where the store knows other ways too.
  virtual Status make(const std::string& region) = 0;

  virtual int64_t part_bytes(int64_t number) const = 0;  // of part `number` of an upload
  virtual int streams() const { return 4; }              // parts that are worth sending at once
};

// A kind of store. Each is one file of this shelf:  ObjectScheme scheme_gs() { ... }
struct ObjectScheme {
  std::vector<std::string> names;  // schemes of URLs: "gs", ...
  // The bucket of "<scheme>://<authority>", whatever is after it. H0106 when `authority` cannot be one.
  Result<std::unique_ptr<Bucket>> (*open)(const std::string& scheme, const std::string& authority,
                                          const HttpClient::Options& http) = nullptr;
};
std::vector<ObjectScheme> all_scheme();  // generated from the folder

// Is `key` a path without empty parts at its beginning, "." and ".."? What a listing says must not leave
// the folder that it is copied to.
bool is_safe_key(std::string_view key);

// A URL cut in two: what names the bucket, and the key after it ("" without).
struct ObjectUrl {
  std::string bucket, key;
  const ObjectScheme* scheme = nullptr;
};
// Nullopt: no URL of an object store. H0106: a key that is not a path (with "." or ".." in it).
Result<std::optional<ObjectUrl>> parse_object_url(const std::string& url);

// The bucket of "gs://name"; made once, kept until the program ends.
Result<Bucket*> open_bucket(const ObjectUrl& url);

}  // namespace hone
