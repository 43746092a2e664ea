// Forwards requests of hone ui's page "Playground" to one inference server, and streams the answers back. So the
// browser sends requests only to hone ui, and the inference server needs no CORS.
#pragma once

#include <atomic>
#include <string>

#include "base/core/error.h"
#include "operate/http/request.h"

namespace hone {

class EndpointProxy {
 public:
  // `url` is the server's address: http or https, host and port, and optionally a path with which its routes begin.
  // `key` is sent as a bearer token; "": none. Error H3501: the address is malformed, or has a user name, a password,
  // a query or a fragment.
  static Result<EndpointProxy> make(const std::string& url, const std::string& key);
  // Forwards a GET or POST request to `path` below the address, such as "v1/completions". Returns when the answer is
  // sent. Ends early if the client leaves or `ends` becomes true. If the server does not answer, the client gets
  // status 502.
  void pass(const WebRequest& request, const std::string& path, WebReply& reply,
            const std::atomic<bool>& ends) const;
  const std::string& url() const { return url_; }

 private:
  std::string url_, key_;
};

}  // namespace hone
