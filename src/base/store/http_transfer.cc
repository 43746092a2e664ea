#include "base/store/http_transfer.h"

#include <charconv>
#include <cstdlib>
#include <cstring>

#include "base/core/log.h"
#include "base/core/signals.h"
#include "base/core/text.h"
#include "base/store/errors.h"

namespace hone {
namespace {

constexpr size_t kMostErrorBody = 64 << 10;
constexpr long kTransferBuffer = 512 << 10;

size_t on_header(char* data, size_t size, size_t count, void* user) {
  auto& t = *static_cast<HttpResponse*>(user);
  std::string_view line(data, size * count);
  if (line.starts_with("HTTP/")) {  // of each response of a chain of redirects
    t.headers.clear();
    size_t space = line.find(' ');
    if (space != std::string_view::npos) {
      std::string_view digits = line.substr(space + 1, 3);
      std::from_chars(digits.data(), digits.data() + digits.size(), t.status);
    }
  } else if (size_t colon = line.find(':'); colon != std::string_view::npos) {
    t.headers[to_lower(trim(line.substr(0, colon)))] = std::string(trim(line.substr(colon + 1)));
  }
  return size * count;
}

int on_progress(void* heeds_stop, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
  return *static_cast<const bool*>(heeds_stop) && stop_requested();
}

// The first byte of a 206, from "bytes 100-199/200".
std::optional<int64_t> range_start(const std::string& content_range) {
  size_t digit = content_range.find_first_of("0123456789");
  int64_t n = 0;
  if (digit == std::string::npos) return std::nullopt;
  const char* end = content_range.data() + content_range.size();
  if (std::from_chars(content_range.data() + digit, end, n).ec != std::errc()) return std::nullopt;
  return n;
}

std::string value_in(const HttpHeaders& headers, const char* name) {
  const auto it = headers.find(name);
  return it == headers.end() ? "" : it->second;
}

// The value of If-Range for a download that began with this answer: if the file has changed, the
// server sends it from the start. A weak ETag does not promise equal bytes (RFC 9110, 13.1.5).
std::string if_range(const HttpHeaders& first) {
  const std::string etag = value_in(first, "etag");
  return etag.starts_with('"') ? etag : value_in(first, "last-modified");
}

// Servers that do not know If-Range say by the same headers that the file is another one.
bool is_other_file(const HttpHeaders& first, const HttpHeaders& now) {
  for (const char* name : {"etag", "last-modified"}) {
    std::string a = value_in(first, name), b = value_in(now, name);
    if (a.empty() || b.empty()) continue;
    for (std::string* etag : {&a, &b})
      if (etag->starts_with("W/")) etag->erase(0, 2);
    return a != b;
  }
  return false;
}

const char* first_set(std::initializer_list<const char*> names) {
  for (const char* n : names) {
    const char* v = std::getenv(n);
    if (v != nullptr && *v != 0) return v;
  }
  return nullptr;
}
}  // namespace

// The first bytes of an answer: whether they go to the sink, and from which byte of the file they
// are. False: the transfer ends.
bool HttpTransfer::begin_body() {
  body_checked = true;
  to_sink = sink != nullptr && success_status();
  if (!to_sink) return true;
  // A server may ignore the range, or serve another range.
  int64_t start = 0;
  if (response.status == 206) start = range_start(response.header("content-range")).value_or(at);
  if (start != at && start != 0) {
    sink_error.emplace(
        err::kHttpStatus,
        fmt::format("{} sent bytes from {}, asked were those from {}", url, start, at));
    return false;
  }
  other_file = start > 0 && is_other_file(first, response.headers);
  if (other_file) return false;
  if (start == 0 || first.empty()) first = response.headers;
  at = start;
  return true;
}

// False: the transfer ends.
bool HttpTransfer::take(std::string_view bytes) {
  if (!body_checked && !begin_body()) return false;
  if (request && !request->into.empty() && success_status()) {
    const auto begin = static_cast<size_t>(response.received);
    too_long = bytes.size() > request->into.size() - begin;
    if (too_long) return false;
    std::memcpy(request->into.data() + begin, bytes.data(), bytes.size());
    response.received += static_cast<int64_t>(bytes.size());
    return true;
  }
  if (!to_sink) {
    if (response.body.size() + bytes.size() > (sink ? kMostErrorBody : most_body)) {
      if (sink) return true;
      sink_error.emplace(err::kHttpStatus,
                         fmt::format("the answer of {} is longer than {}", url,
                                     format_bytes(static_cast<int64_t>(most_body))));
      sink_error->todo(
          "check the URL; no file list or file that hone asks for this way is as long");
      return false;
    }
    response.body += bytes;
    return true;
  }
  Status s = (*sink)(at, bytes);
  if (!s.ok()) {
    sink_error = std::move(s.error());
    return false;
  }
  at += static_cast<int64_t>(bytes.size());
  moved += static_cast<int64_t>(bytes.size());
  progressed = true;
  return true;
}

bool HttpTransfer::is_cut() const {
  if (!request || head() || response.status < 200 || response.status >= 300) return false;
  if (!request->into.empty() && success_status())
    return response.received < static_cast<int64_t>(request->into.size());
  return request->is_whole && !request->is_whole(response.body);
}

curl_slist* HttpTransfer::header_list() const {
  curl_slist* list = nullptr;
  for (const auto& [name, value] : headers)
    list = curl_slist_append(list, (name + ": " + value).c_str());
  if (request && !request->body.empty()) list = curl_slist_append(list, "Expect:");
  if (sink && at > 0) {
    list = curl_slist_append(list, fmt::format("range: bytes={}-", at).c_str());
    if (const std::string same = if_range(first); !same.empty())
      list = curl_slist_append(list, ("if-range: " + same).c_str());
  }
  return list;
}

void HttpTransfer::set_body(CURL* curl) const {
  if (!request || method == "GET" || head()) return;
  if (!request->body.empty() || method == "PUT" || method == "POST") {
    curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE,
                     static_cast<curl_off_t>(request->body.size()));
    curl_easy_setopt(curl, CURLOPT_POSTFIELDS,
                     request->body.empty() ? "" : static_cast<const void*>(request->body.data()));
    curl_easy_setopt(curl, CURLOPT_UPLOAD_BUFFERSIZE, kTransferBuffer);
  }
  curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, method.c_str());
}

CURLcode HttpTransfer::perform(CURL* curl, const HttpClientOptions& options, double seconds,
                               char* reason) {
  const auto on_body = +[](char* data, size_t size, size_t count, void* self) -> size_t {
    return static_cast<HttpTransfer*>(self)->take({data, size * count}) ? size * count : 0;
  };
  reset();
  curl_easy_reset(curl);
  *reason = 0;
  curl_slist* const list = header_list();
  curl_easy_setopt(curl, CURLOPT_URL, url.c_str());
  curl_easy_setopt(curl, CURLOPT_HTTPHEADER, list);
  curl_easy_setopt(curl, CURLOPT_USERAGENT, "hone/0.1");
  curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, reason);
  curl_easy_setopt(curl, CURLOPT_NOBODY, head() ? 1L : 0L);
  curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, head() || request ? 0L : 1L);
  set_body(curl);
  curl_easy_setopt(curl, CURLOPT_BUFFERSIZE, kTransferBuffer);
  curl_easy_setopt(curl, CURLOPT_MAXREDIRS, 10L);
  curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT_MS,
                   static_cast<long>(options.connect_timeout_seconds * 1000));
  curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS,
                   std::max(1L, static_cast<long>(std::max(seconds, 0.0) * 1000)));
  curl_easy_setopt(curl, CURLOPT_LOW_SPEED_LIMIT, static_cast<long>(options.least_rate));
  curl_easy_setopt(curl, CURLOPT_LOW_SPEED_TIME,
                   std::max(1L, static_cast<long>(options.stall_timeout_seconds)));
  curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, on_header);
  curl_easy_setopt(curl, CURLOPT_HEADERDATA, &response);
  curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, on_body);
  curl_easy_setopt(curl, CURLOPT_WRITEDATA, this);
  curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, on_progress);
  curl_easy_setopt(curl, CURLOPT_XFERINFODATA, &heeds_stop);
  curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
#if LIBCURL_VERSION_NUM >= 0x075500
  curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(curl, CURLOPT_REDIR_PROTOCOLS_STR, "http,https");
#else
  curl_easy_setopt(curl, CURLOPT_PROTOCOLS, CURLPROTO_HTTP | CURLPROTO_HTTPS);
  curl_easy_setopt(curl, CURLOPT_REDIR_PROTOCOLS, CURLPROTO_HTTP | CURLPROTO_HTTPS);
#endif
  if (const char* ca = first_set({"SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"})) {
    curl_easy_setopt(curl, CURLOPT_CAINFO, ca);
  }
  const CURLcode code = curl_easy_perform(curl);
  char* final_url = nullptr;
  curl_easy_getinfo(curl, CURLINFO_EFFECTIVE_URL, &final_url);
  response.url = final_url ? final_url : url;
  curl_slist_free_all(list);
  return code;
}

bool HttpTransfer::starts_again() {
  if (other_file) log_info("{} was changed on its server: loading it from the start", name());
  // After a 416 it has fewer bytes than the file that is here.
  const bool again = other_file || (response.status == 416 && sink && at > 0);
  if (again) at = 0;
  return again;
}

}  // namespace hone
