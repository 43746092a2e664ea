// Shared parts of the clients for object stores: connections, conditions, and conversion of bad answers to Errors.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/store/errors.h"
#include "base/store/http.h"
#include "base/store/objects/bucket.h"

namespace hone {

// A pool of HTTP clients, so that several threads can send requests at once.
class Connections {
 public:
  explicit Connections(HttpClient::Options options) : options_(options) {}
  // HttpClient::send() by a client that is not in use.
  Result<HttpResponse> send(const HttpRequest& request);

 private:
  HttpClient::Options options_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<HttpClient>> free_;
};

// The Error for an answer with a bad status: H0101 for 404, H0102 for 401 and 403, H0118 for 409 and 412, H0105 for
// 416, H0108 for others. `name` is the URL of the object in the user's form; `credentials` is the source of the
// credentials, "none" without any; `why` is the server's own text, or "".
Error refused_by_store(const HttpResponse& response, const std::string& name,
                       const std::string& credentials, std::string why = "");

// The Error H0117: the version of the object that is being read no longer exists.
Error changed_while_read(const std::string& name);
// The Error H0113: an upload sent `sent` bytes, but the object has `there` bytes.
Error damaged_upload(const std::string& name, int64_t there, int64_t sent);

// The header If-None-Match or If-Match for a write; empty without a condition.
HttpHeaders condition_headers(const Condition& condition);

// The metadata of an object from the headers content-length, etag and last-modified. `md5` is in hexadecimal, or "".
ObjectInfo object_of(const HttpResponse& response, const std::string& key, std::string md5);

// A response with this status that no server sent, for refused_by_store().
HttpResponse no_answer(int status);

// Checks that the answer to a read of a range has the bytes [offset, offset + bytes). Error H0105 if there are fewer,
// H0108 if they begin at another offset.
Status all_there(const HttpResponse& response, int64_t offset, size_t bytes,
                 const std::string& name);

// Returns true for transfers of more than 1 MiB: a stop request of the user aborts them (HttpRequest::heeds_stop).
// Small ones continue, because a run needs them while it stops.
inline bool is_long(size_t bytes) { return bytes > (size_t{1} << 20); }

// 16 random hexadecimal digits.
std::string random_name();

// The number at the start of the text: 5 for "5-9/100"; -1 if there is none.
int64_t number_of(const std::string& text);

}  // namespace hone
