#include "operate/web/endpoint_proxy.h"

#include <curl/curl.h>

#include "operate/web/errors.h"

namespace hone {
namespace {

constexpr long kConnectSeconds = 5, kQuietSeconds = 120;

struct Passing {
  CURL* curl = nullptr;
  WebReply* reply = nullptr;
  const std::atomic<bool>* ends = nullptr;
  bool begun = false;
};

void begin_passing(Passing& p) {
  if (p.begun) return;
  p.begun = true;
  long status = 0;
  const char* type = nullptr;
  curl_easy_getinfo(p.curl, CURLINFO_RESPONSE_CODE, &status);
  curl_easy_getinfo(p.curl, CURLINFO_CONTENT_TYPE, &type);
  // Only what a script reads: a page of the other server is not to become one of this origin.
  const std::string_view given = type == nullptr ? "" : type;
  const char* shown = given.starts_with("text/event-stream")  ? "text/event-stream"
                      : given.starts_with("application/json") ? "application/json"
                                                              : "text/plain; charset=utf-8";
  p.reply->begin(
      {.status = static_cast<int>(status),
       .body = {},
       .type = shown,
       .headers = {{"cache-control", "no-store"}, {"x-content-type-options", "nosniff"}}});
}

size_t pass_piece(char* bytes, size_t size, size_t count, void* to) {
  Passing& p = *static_cast<Passing*>(to);
  if (p.reply->gone()) return 0;
  begin_passing(p);
  p.reply->write(std::string(bytes, size * count));
  return size * count;
}

int client_left(void* to, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
  const Passing& p = *static_cast<Passing*>(to);
  return p.reply->gone() || *p.ends ? 1 : 0;
}

}  // namespace

Result<EndpointProxy> EndpointProxy::make(const std::string& url, const std::string& key) {
  const auto wrong = [&](const std::string& what) {
    return Error(err::kWebFlag, what)
        .at("--endpoint_url")
        .todo("write the address of hone serve: --endpoint_url http://127.0.0.1:8080");
  };
  EndpointProxy proxy;
  proxy.url_ = url;
  while (proxy.url_.ends_with('/')) proxy.url_.pop_back();
  proxy.key_ = key;
  CURLU* const parts = curl_url();
  const bool parsed = curl_url_set(parts, CURLUPART_URL, proxy.url_.c_str(), 0) == CURLUE_OK;
  const auto has = [&](CURLUPart part) {
    char* text = nullptr;
    const bool there = curl_url_get(parts, part, &text, 0) == CURLUE_OK;
    curl_free(text);
    return there;
  };
  const bool login = parsed && (has(CURLUPART_USER) || has(CURLUPART_PASSWORD)),
             more = parsed && (has(CURLUPART_QUERY) || has(CURLUPART_FRAGMENT));
  curl_url_cleanup(parts);
  if (login) return wrong("the address of the endpoint holds a name or password");
  if (!parsed || more || !(url.starts_with("http://") || url.starts_with("https://")))
    return wrong(fmt::format("'{}' is not the address of a server", url));
  return proxy;
}

void EndpointProxy::pass(const WebRequest& request, const std::string& path, WebReply& reply,
                         const std::atomic<bool>& ends) const {
  CURL* const curl = curl_easy_init();
  Passing passing{curl, &reply, &ends};
  const std::string url = url_ + "/" + path;
  curl_easy_setopt(curl, CURLOPT_URL, url.c_str());
  curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(curl, CURLOPT_PATH_AS_IS, 1L);
  curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT, kConnectSeconds);
  curl_easy_setopt(curl, CURLOPT_LOW_SPEED_LIMIT, 1L);
  curl_easy_setopt(curl, CURLOPT_LOW_SPEED_TIME, kQuietSeconds);
  curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, pass_piece);
  curl_easy_setopt(curl, CURLOPT_WRITEDATA, &passing);
  curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
  curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, client_left);
  curl_easy_setopt(curl, CURLOPT_XFERINFODATA, &passing);
  // A server of this machine is not behind the proxy of the environment.
  for (const char* local : {"://127.", "://localhost", "://[::1]"})
    if (url_.find(local) != std::string::npos) curl_easy_setopt(curl, CURLOPT_PROXY, "");
  curl_slist* headers = curl_slist_append(nullptr, "Expect:");
  if (request.method == "POST") {
    headers = curl_slist_append(headers, "Content-Type: application/json");
    curl_easy_setopt(curl, CURLOPT_POST, 1L);
    curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE,
                     static_cast<curl_off_t>(request.body.size()));
    curl_easy_setopt(curl, CURLOPT_POSTFIELDS, request.body.data());
  }
  if (!key_.empty())
    headers = curl_slist_append(headers, ("Authorization: Bearer " + key_).c_str());
  curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
  const CURLcode done = curl_easy_perform(curl);
  if (done == CURLE_OK) {
    begin_passing(passing);
    reply.end();
  } else if (passing.begun) {
    reply.end();
  } else if (!reply.gone()) {
    reply.send(web_error(502, fmt::format("{} does not answer: {}; start hone serve, or name "
                                          "another server with --endpoint_url",
                                          url_, curl_easy_strerror(done))));
  }
  curl_slist_free_all(headers);
  curl_easy_cleanup(curl);
}

}  // namespace hone
