// Sends requests to the server of a reporter (such as MLflow), and parses the server's address and environment
// variables.
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

// Sends one request at a time. A failed request is retried. Once a request has failed in all its tries, each later
// request has only one try, until one succeeds. So an unreachable server costs little time and few lines in the log.
class ReportServer {
 public:
  // `name` replaces the URL in error messages, because the URL may hold a password.
  explicit ReportServer(std::string name, double timeout_seconds = 20);

  // Returns the answer, whatever its status is. Errors: those of HttpClient::send.
  Result<HttpResponse> ask(const std::string& method, const std::string& url,
                           const HttpHeaders& headers, std::string_view body);
  // Returns the body of an answer with status 2xx. Errors: those of ask(); refusal() for any other status.
  Result<std::string> send(const std::string& method, const std::string& url,
                           const HttpHeaders& headers, std::string_view body);
  // Returns error H0108 with the answer's status and the beginning of its body.
  Error refusal(const HttpResponse& answer) const;

 private:
  std::string name_;
  HttpClient http_;
};

// The parts of a server's URL.
struct ServerAddress {
  std::string url;             // the URL without user, password and slashes at its end
  std::string user, password;  // percent-decoded; "": none
};
// Splits a URL. Error H3121: it is not an http or https URL. The error names `variable`, the variable that holds the
// URL.
Result<ServerAddress> server_address(const std::string& variable, const std::string& url);

// Parses "k=v,k2=v2", the form of OpenTelemetry's variables; keys and values may have %-escapes. Parts without '=' are
// skipped.
std::vector<std::pair<std::string, std::string>> key_values(std::string_view text);

// The value as one line of JSON that every parser accepts: numbers that are not finite become the texts "NaN",
// "Infinity" and "-Infinity", as in the JSON of Protocol Buffers and of W&B.
std::string report_json(const OrderedJson& value);

}  // namespace hone
