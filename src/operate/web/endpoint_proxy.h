// Forwards requests of the playground to one server, and streams its answers back: the page needs
// no other origin, and the server no CORS.
#pragma once

#include <atomic>
#include <string>

#include "base/core/error.h"
#include "operate/http/request.h"

namespace hone {

class EndpointProxy {
 public:
  // `url`: http or https, host and port, perhaps a path before the routes. `key`: sent as a bearer
  // token; "": none. Errors: H3501.
  static Result<EndpointProxy> make(const std::string& url, const std::string& key);
  // Forwards GET or POST of `path` below the address, such as "v1/completions", in the calling
  // thread. Ends early if the client leaves or `ends` is set.
  void pass(const WebRequest& request, const std::string& path, WebReply& reply,
            const std::atomic<bool>& ends) const;
  const std::string& url() const { return url_; }

 private:
  std::string url_, key_;
};

}  // namespace hone
