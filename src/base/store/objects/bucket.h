// The interface to one bucket of an object store: Google Cloud Storage, S3, or Azure Blob storage (whose buckets are
// called containers).
//   const auto url = HONE_TRY(parse_object_url("gs://models"));
//   Bucket* b = HONE_TRY(open_bucket(*url));
//   ObjectInfo o = *HONE_TRY(b->stat("gpt2/config.json"));
//   HONE_TRY(b->read(o, 0, buffer));                       // reads that version, or fails with H0117
//   HONE_TRY(b->put("done", text, {.absent = true}));      // fails with H0118 if the object exists
// Keys are UTF-8 without a leading slash. Several threads may use a Bucket at once. Errors of all calls:
//   H0101  there is no such bucket or object        H0109  the user asked to stop
//   H0102  permission is denied                     H0113  data was damaged in transfer
//   H0104  the server lost a part of an upload      H0117  the object has changed since stat()
//   H0105  the object ends before the range         H0118  the condition of a write does not hold
//   H0107  the server cannot be reached             H0119  the credentials cannot be used
//   H0108  the server refuses the request
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
  std::string version;  // a generation (Google) or an ETag: a text that changes with the content
  std::optional<uint32_t> crc32c = {};  // CRC-32C of the content; nullopt: unknown
  std::string md5 = {};                 // MD5 of the content in hexadecimal; "": unknown
  std::string updated = {};             // the time of the last write: RFC 3339, or an HTTP date
};

struct ObjectPage {
  std::vector<ObjectInfo> objects;   // sorted by key
  std::vector<std::string> folders;  // prefixes of keys, with a slash at the end
  // Objects and folders whose keys are not safe (is_safe_key). No URL can name them; do not make paths of them.
  std::vector<ObjectInfo> unsafe = {};
  std::string next;  // the token of the next page; "": this is the last page
};

// The condition of a write. If it does not hold, the write fails with H0118 and changes nothing. If an answer is lost,
// the request is sent again although the server may have done it; so a write that finds its own bytes in the object
// counts as done. Programs that compete for an object (a lock, a manifest) must therefore write different bytes.
struct Condition {
  bool absent = false;       // the object must not exist
  std::string version = "";  // the object must have this version; "": any
};

// Writes an object part by part. The object appears when it is finished. If the Upload is destroyed before that, the
// parts are removed.
class Upload {
 public:
  virtual ~Upload() = default;
  // Sends part `number` (from 0), whose bytes begin at `offset` of the object. Every part has
  // Bucket::part_bytes(number) bytes, except the last one, which may be shorter. If Bucket::streams() is more than 1,
  // several threads may send parts at once; else send them in order.
  virtual Status part(int64_t number, int64_t offset, std::span<const std::byte> bytes,
                      bool last) = 0;
  // Call after all parts, with the size and the CRC-32C of the whole object. Error H0113 if the server's object
  // differs.
  virtual Result<ObjectInfo> finish(int64_t bytes, uint32_t crc32c) = 0;
};

class Bucket {
 public:
  virtual ~Bucket() = default;
  // The metadata of an object; nullopt if it does not exist.
  virtual Result<std::optional<ObjectInfo>> stat(const std::string& key) = 0;
  // Fills `out` with the bytes from `offset` on, of the version in `object`. Error H0117 if that version is gone.
  virtual Status read(const ObjectInfo& object, int64_t offset, std::span<std::byte> out) = 0;
  // Lists objects whose keys begin with `prefix`. If `folders` is true, keys with a further slash after `prefix` are
  // grouped: ObjectPage::folders has their common part up to that slash. `page` is ObjectPage::next of the page before;
  // "": the first page. Returns at most `most` objects.
  virtual Result<ObjectPage> list(const std::string& prefix, bool folders, const std::string& page,
                                  int most = 1000) = 0;
  // Writes an object in one request.
  virtual Result<ObjectInfo> put(const std::string& key, std::span<const std::byte> bytes,
                                 const Condition& condition) = 0;
  // Starts to write an object in parts.
  virtual Result<std::unique_ptr<Upload>> upload(const std::string& key,
                                                 const Condition& condition) = 0;
  // Deletes an object. `version` "": deletes the current version; Error H0101 if there is none. Other values come from
  // stat(), list() or a write: only that version is deleted. If the object has another version, that version stays, and
  // the Error is H0118. If the object no longer exists, this is not an Error. (An S3 server without conditional deletes
  // may delete the other version.)
  virtual Status remove(const std::string& key, const std::string& version = "") = 0;
  // Copies an object within the bucket. The server copies the bytes.
  virtual Status copy(const std::string& from, const std::string& to) = 0;
  // Creates the bucket. `region` "": the server's default. If the store has both a policy for the bucket and access
  // lists for single objects, only the policy controls access. Error H0118 if the bucket exists.
  virtual Status make(const std::string& region) = 0;

  virtual int64_t part_bytes(int64_t number) const = 0;  // the size of part `number` of an upload
  virtual int streams() const { return 4; }              // a good number of parts to send at once
};

// A kind of object store. Each kind is one file of this folder, such as gs.cc, with a function such as
// `ObjectScheme scheme_gs()`.
struct ObjectScheme {
  std::vector<std::string> names;  // the schemes of its URLs: "gs", ...
  // Opens the bucket "<scheme>://<authority>". Error H0106 if `authority` is not a bucket of this store, H0119 if the
  // credentials cannot be used.
  Result<std::unique_ptr<Bucket>> (*open)(const std::string& scheme, const std::string& authority,
                                          const HttpClient::Options& http) = nullptr;
};
// All kinds. The build generates this function from the files of the folder.
std::vector<ObjectScheme> all_scheme();

// Returns true if `key` is safe as a path below a folder: it is not empty, does not begin with a slash, and has no NUL
// byte and no part "." or "..". Other keys could lead out of the folder into which a bucket is copied.
bool is_safe_key(std::string_view key);

// The parts of a URL: for "gs://models/gpt2/config.json", bucket is "gs://models" and key is "gpt2/config.json".
struct ObjectUrl {
  std::string bucket, key;
  const ObjectScheme* scheme = nullptr;
};
// Parses the URL of a bucket, object or folder. Double slashes in the key become one, and slashes at its end are
// removed. nullopt: it is not a URL of an object store. Error H0106 if the URL has no bucket, or its key has a part "."
// or "..".
Result<std::optional<ObjectUrl>> parse_object_url(const std::string& url);

// The bucket of a URL. It is opened once and kept until the program ends; do not delete it. Errors: those of
// ObjectScheme::open.
Result<Bucket*> open_bucket(const ObjectUrl& url);

}  // namespace hone
