// An OAuth 2.0 access token (RFC 6749) that is fetched and renewed when it is needed.
#pragma once

#include <functional>
#include <mutex>
#include <string>
#include <string_view>

#include "base/core/clock.h"
#include "base/core/error.h"

namespace hone {

// Several threads may use a BearerToken; while one of them fetches, the others wait.
class BearerToken {
 public:
  struct Token {
    std::string value;
    double seconds = 0;  // the lifetime from now on
  };
  using Fetch = std::function<Result<Token>()>;
  explicit BearerToken(Fetch fetch, Clock& clock = system_clock())
      : fetch_(std::move(fetch)), clock_(clock) {}

  // Returns the token. Fetches a new one first if there is none, if the old one equals `refused` (the token that a
  // server has just refused), or if the old one expires in less than four minutes and more than half of its lifetime
  // has passed. Errors: those of `fetch`.
  Result<std::string> get(const std::string& refused = "");
  // Returns the value for the header Authorization: "Bearer <token>". `refused` is the header's value that a server has
  // just refused, or "". Errors: those of `fetch`.
  Result<std::string> header(std::string_view refused);

 private:
  Fetch fetch_;
  Clock& clock_;
  std::mutex mutex_;
  std::string value_;
  double end_ = 0;
};

// Reads the members access_token and expires_in from the JSON answer of a token server. `where` names the credentials
// for messages. Error H0119 if the answer has no token. Its message has the server's error text, but nothing of the
// request.
class HttpClient;
struct HttpRequest;
struct HttpResponse;
Result<BearerToken::Token> token_in(const HttpResponse& answer, const std::string& where);
// Sends the request and reads the answer with token_in(). Errors: those of token_in() and HttpClient::send().
Result<BearerToken::Token> ask_for_token(HttpClient& http, const HttpRequest& request,
                                         const std::string& where);

// "a=1&b=2" with names and values %-encoded, for the body of a form.
std::string form_text(std::initializer_list<std::pair<std::string_view, std::string_view>> fields);

}  // namespace hone
