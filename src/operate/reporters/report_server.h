// Requests to a reporter's server, and parsing of its address and variables.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/core/error.h"
#include "base/core/json.h"
#include "base/store/http.h"

namespace hone {

// Sends one request at a time. After a failure, further requests are tried only once until one
// succeeds: an unreachable server costs little time and few lines in the log.
class ReportServer {
 public:
  // `name` replaces the URL in messages, because the URL may hold a password.
  explicit ReportServer(std::string name, double timeout_seconds = 20);

  // Returns the answer with any status. Errors: those of HttpClient::send.
  Result<HttpResponse> ask(const std::string& method, const std::string& url,
                           const HttpHeaders& headers, std::string_view body);
  // Returns the body of an answer with status 2xx; H0108 with the beginning of the server's
  // message.
  Result<std::string> send(const std::string& method, const std::string& url,
                           const HttpHeaders& headers, std::string_view body);
  Error refusal(const HttpResponse& answer) const;

 private:
  std::string name_;
  HttpClient http_;
};

// The parts of an address in a variable.
struct ServerAddress {
  std::string url;             // without user, password and trailing slashes
  std::string user, password;  // decoded; "": none
};
// H3121 if it is not an http or https URL; `variable` is its source.
Result<ServerAddress> server_address(const std::string& variable, const std::string& url);

// Parses "k=v,k2=v2" with %-escapes in both, the form of OpenTelemetry's variables. Parts without
// '=' are skipped.
std::vector<std::pair<std::string, std::string>> key_values(std::string_view text);

// One line of JSON that every parser accepts: numbers that are not finite become "NaN", "Infinity"
// and "-Infinity" in quotes, as in the JSON of Protocol Buffers and W&B.
std::string report_json(const OrderedJson& value);

}  // namespace hone
