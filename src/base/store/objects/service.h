// Shared parts of all object store clients: connections, and errors in hone's words.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/store/errors.h"
#include "base/store/http.h"
#include "base/store/objects/bucket.h"

namespace hone {

// A pool of connections: one for each running request.
class Connections {
 public:
  explicit Connections(HttpClient::Options options) : options_(options) {}
  Result<HttpResponse> send(const HttpRequest& request);

 private:
  HttpClient::Options options_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<HttpClient>> free_;
};

// The Error for an unexpected answer: H0101, H0102, H0105, H0108, H0118. `name` is the object as
// users write it; `credentials` names their source. `why` is the server's own text; "": none.
Error refused_by_store(const HttpResponse& response, const std::string& name,
                       const std::string& credentials, std::string why = "");

// H0117: the version that a read is pinned to no longer exists.
Error changed_while_read(const std::string& name);
// H0113: after an upload the object's size differs from the number of bytes sent.
Error damaged_upload(const std::string& name, int64_t there, int64_t sent);

// If-None-Match or If-Match of a write; empty without a condition.
HttpHeaders condition_headers(const Condition& condition);

// An object by the headers of an answer that describes it. `md5`: in hexadecimal, or "".
ObjectInfo object_of(const HttpResponse& response, const std::string& key, std::string md5);

// An answer with this status, made locally.
HttpResponse no_answer(int status);

// Checks that the answer to a ranged read has all `bytes` from `offset` on: else H0105, H0108.
Status all_there(const HttpResponse& response, int64_t offset, size_t bytes,
                 const std::string& name);

// Reads of large data stop when the user asks; the small ones that a run needs in order to stop do
// not.
inline bool is_long(size_t bytes) { return bytes > (size_t{1} << 20); }

// 16 random letters and digits.
std::string random_name();

// The number in "bytes 5-9/100" or a header; -1: none.
int64_t number_of(const std::string& text);

}  // namespace hone
