// What clients of all object stores share: connections, and errors in hone's words.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/store/errors.h"
#include "base/store/http.h"
#include "base/store/objects/bucket.h"

namespace hone {

// Connections that are used in turn: one for each request that runs.
class Connections {
 public:
  explicit Connections(HttpClient::Options options) : options_(options) {}
  Result<HttpResponse> send(const HttpRequest& request);

 private:
  HttpClient::Options options_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<HttpClient>> free_;
};

// The Error of an answer that is not what was hoped for: H0101, H0102, H0105, H0108, H0118. `name` is the object as users write it;
// `credentials` says where they came from. `why` is the server's own word, "" without.
Error refused_by_store(const HttpResponse& response, const std::string& name,
                       const std::string& credentials, std::string why = "");

// H0117: the version that a read is pinned to is gone.
Error changed_while_read(const std::string& name);
// H0113: what is there after an upload has another size than what was sent.
Error damaged_upload(const std::string& name, int64_t there, int64_t sent);

// As if the server had said so.
HttpResponse no_answer(int status);

// Did the answer to a read of a range bring all `bytes` from `offset` on? H0105, H0108 otherwise.
Status all_there(const HttpResponse& response, int64_t offset, size_t bytes,
                 const std::string& name);

// A read that has to do with long data heeds a request to stop; the small ones that a run needs in
// order to stop do not.
inline bool is_long(size_t bytes) { return bytes > (size_t{1} << 20); }

// 16 letters and digits that nobody else has.
std::string random_name();

// The number in "bytes 5-9/100" or a header, -1 when there is none.
int64_t number_of(const std::string& text);

}  // namespace hone
