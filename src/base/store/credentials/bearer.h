// An access token, fetched when it is needed.
#pragma once

#include <functional>
#include <mutex>
#include <string>
#include <string_view>

#include "base/core/clock.h"
#include "base/core/error.h"

namespace hone {

// OAuth 2.0 (RFC 6749). Several threads may use it; one of them fetches.
class BearerToken {
 public:
  struct Token {
    std::string value;
    double seconds = 0;  // lifetime from now on
  };
  using Fetch = std::function<Result<Token>()>;
  explicit BearerToken(Fetch fetch, Clock& clock = system_clock())
      : fetch_(std::move(fetch)), clock_(clock) {}

  // Returns the token; renews it four minutes before its end, or if the server refused it
  // (`refused`).
  Result<std::string> get(const std::string& refused = "");
  // Returns the value of the header Authorization: "Bearer <token>". `refused`: the value that the
  // server refused, or "".
  Result<std::string> header(std::string_view refused);

 private:
  Fetch fetch_;
  Clock& clock_;
  std::mutex mutex_;
  std::string value_;
  double end_ = 0;
};

// Reads the token from the JSON answer of a token server: access_token and expires_in. H0119 with
// the server's error, never with the sent data; `where` names the credentials.
class HttpClient;
struct HttpRequest;
struct HttpResponse;
Result<BearerToken::Token> token_in(const HttpResponse& answer, const std::string& where);
Result<BearerToken::Token> ask_for_token(HttpClient& http, const HttpRequest& request,
                                         const std::string& where);

// "a=1&b=2" with both sides %-encoded.
std::string form_text(std::initializer_list<std::pair<std::string_view, std::string_view>> fields);

}  // namespace hone
