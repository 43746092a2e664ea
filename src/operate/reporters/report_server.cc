#include "operate/reporters/report_server.h"

#include <charconv>
#include <cmath>

#include "base/core/text.h"
#include "base/store/errors.h"
#include "operate/reporters/errors.h"

namespace hone {
namespace {

constexpr int kReportRetries = 2;

HttpClient::Options report_options(double seconds) {
  HttpClient::Options o{.connect_timeout_seconds = std::min(seconds, 5.0),
                        .stall_timeout_seconds = std::ceil(seconds),
                        .least_rate = 1,
                        .most_body_bytes = int64_t{4} << 20,
                        .retries = kReportRetries};
  o.deadline_seconds = static_cast<int64_t>(std::ceil(seconds)) * (kReportRetries + 1);
  return o;
}

std::string percent_decoded(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    unsigned value = 0;
    const char* digits = text.data() + i + 1;
    const bool escape = text[i] == '%' && i + 2 < text.size() &&
                        std::from_chars(digits, digits + 2, value, 16).ptr == digits + 2;
    out += escape ? static_cast<char>(value) : text[i];
    if (escape) i += 2;
  }
  return out;
}

OrderedJson finite(const OrderedJson& v) {
  if (v.is_number_float() && !std::isfinite(v.get<double>())) {
    const auto x = v.get<double>();
    return std::isnan(x) ? "NaN" : x > 0 ? "Infinity" : "-Infinity";
  }
  if (!v.is_structured()) return v;
  OrderedJson all = v.is_array() ? OrderedJson::array() : OrderedJson::object();
  for (const auto& [key, value] : v.items()) {
    if (v.is_array())
      all.push_back(finite(value));
    else
      all[key] = finite(value);
  }
  return all;
}

}  // namespace

ReportServer::ReportServer(std::string name, double timeout_seconds)
    : name_(std::move(name)), http_(report_options(timeout_seconds)) {}

Result<HttpResponse> ReportServer::ask(const std::string& method, const std::string& url,
                                       const HttpHeaders& headers, std::string_view body) {
  const HttpRequest request{.method = method,
                            .url = url,
                            .headers = headers,
                            .body = std::as_bytes(std::span(body)),
                            .name = name_};
  Result<HttpResponse> answer = http_.send(request);
  http_.set_retries(answer.ok() && answer->status < 500 ? kReportRetries : 0);
  return answer;
}

Result<std::string> ReportServer::send(const std::string& method, const std::string& url,
                                       const HttpHeaders& headers, std::string_view body) {
  HttpResponse answer = HONE_TRY(ask(method, url, headers, body));
  if (answer.status < 200 || answer.status > 299) return refusal(answer);
  return std::move(answer.body);
}

Error ReportServer::refusal(const HttpResponse& answer) const {
  constexpr size_t kShown = 300;
  std::string said;
  for (const char c : utf8_prefix(trim(answer.body), kShown))
    said += static_cast<unsigned char>(c) < ' ' ? ' ' : c;
  const bool denied = answer.status == 401 || answer.status == 403;
  return Error(err::kHttpStatus, fmt::format("{} answered {}{}{}", name_, answer.status,
                                             said.empty() ? "" : ": ", said))
      .todo(denied ? "check the credentials and what they allow"
                   : "check that the address is of a server of this kind");
}

Result<ServerAddress> server_address(const std::string& variable, const std::string& url) {
  const size_t scheme = url.find("://");
  const std::string name = to_lower(url.substr(0, scheme == std::string::npos ? 0 : scheme));
  if (name != "http" && name != "https")
    return Error(err::kReporterSetting,
                 fmt::format("{} is not an http or https URL{}", variable,
                             name.empty() ? "" : fmt::format(": its scheme is '{}'", name)))
        .todo(
            fmt::format("give the address of a server, as in {}=http://localhost:5000", variable));
  ServerAddress a{.url = name + url.substr(scheme), .user = {}, .password = {}};
  const size_t begin = name.size() + 3;
  const size_t end = std::min(a.url.find_first_of("/?#", begin), a.url.size());
  if (const size_t at = a.url.rfind('@', end); at != std::string::npos && at >= begin) {
    const std::string login = a.url.substr(begin, at - begin);
    const size_t colon = std::min(login.find(':'), login.size());
    a.user = percent_decoded(login.substr(0, colon));
    if (colon < login.size()) a.password = percent_decoded(login.substr(colon + 1));
    a.url.erase(begin, at + 1 - begin);
  }
  while (a.url.ends_with('/')) a.url.pop_back();
  return a;
}

std::vector<std::pair<std::string, std::string>> key_values(std::string_view text) {
  std::vector<std::pair<std::string, std::string>> all;
  for (const std::string& part : split(text, ',')) {
    const size_t equals = part.find('=');
    if (equals == std::string::npos) continue;
    std::string key = percent_decoded(trim(std::string_view(part).substr(0, equals)));
    if (!key.empty())
      all.emplace_back(std::move(key),
                       percent_decoded(trim(std::string_view(part).substr(equals + 1))));
  }
  return all;
}

std::string report_json(const OrderedJson& value) { return dump_json(finite(value)); }

}  // namespace hone
