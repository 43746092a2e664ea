// Requests to the servers that a run is reported to, and the values in them.
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

// One request at a time. After one that failed the next are tried once only, until one arrives: a
// server that is gone costs little, and the log does not fill with what it says about it.
class ReportServer {
 public:
  // `name` is what messages call it, instead of a URL that may hold a password.
  explicit ReportServer(std::string name, double timeout_seconds = 20);

  // The answer, whatever its status. Errors: those of HttpClient::send.
  Result<HttpResponse> ask(const std::string& method, const std::string& url,
                           const HttpHeaders& headers, std::string_view body);
  // The body of an answer of status 2xx; H0108 with the beginning of what the server says.
  Result<std::string> send(const std::string& method, const std::string& url,
                           const HttpHeaders& headers, std::string_view body);
  Error refusal(const HttpResponse& answer) const;

 private:
  std::string name_;
  HttpClient http_;
};

// An address of the environment, taken apart.
struct ServerAddress {
  std::string url;             // without user, password and the slashes at its end
  std::string user, password;  // decoded, "" without
};
// H3121 when it is not an http or https URL; `variable` is where it comes from.
Result<ServerAddress> server_address(const std::string& variable, const std::string& url);

// "k=v,k2=v2" with %-escapes in both, as the variables of OpenTelemetry have them. Parts without '='
// are left out.
std::vector<std::pair<std::string, std::string>> key_values(std::string_view text);

// One line of JSON that every parser takes: numbers that are not finite are "NaN", "Infinity" and
// "-Infinity" in quotes, as the JSON of Protocol Buffers and of W&B has them.
std::string report_json(const OrderedJson& value);

}  // namespace hone
