// A request and its answer, for every version of HTTP. Header names are in lower case.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace hone {

using WebHeaders = std::vector<std::pair<std::string, std::string>>;
// The first header of this name; "" if there is none.
std::string_view header_of(const WebHeaders& headers, std::string_view name);

struct WebRequest {
  std::string method;  // "POST"
  std::string path;    // "/v1/models", as sent, without the query
  std::string query;   // "a=b", or ""
  WebHeaders headers;
  std::string body;
  std::string client;  // its address, "127.0.0.1"
  std::string protocol = "HTTP/1.1";

  std::string_view header(std::string_view name) const { return header_of(headers, name); }
};

struct WebAnswer {
  int status = 200;
  std::string body;
  std::string type = "application/json";
  WebHeaders headers = {};
};

// Facts that the work for a request found out, for logs. "" and -1: unknown.
struct WorkFacts {
  std::string model = {}, version = {};
  int64_t tokens_in = -1, tokens_out = -1;
};

// The client of a request, as seen by the code that works on the request. Any thread may use it.
class WebClient {
 public:
  virtual ~WebClient() = default;
  // Replaces the facts so far.
  virtual void tell(const WorkFacts&) {}
  // True if the client has left, or reads too slowly: nothing that is written from now on reaches
  // it.
  virtual bool gone() const = 0;
  // Calls `f` once, on the server's thread, as soon as gone() is true. If it is true already, calls
  // `f` at once, on this thread.
  virtual void on_gone(std::function<void()> f) = 0;
};

// Sends the answer of a request to its client. Any thread may use it, at any time after the
// request. If it is destroyed without an answer, the client gets status 500.
class WebReply : public WebClient {
 public:
  // A whole answer, once. After begin() it is too late for one: the pieces then end without an end.
  virtual void send(WebAnswer answer) = 0;
  // Sends an answer in pieces instead: begin() with status and headers, then any number of write(),
  // then end().
  virtual void begin(WebAnswer head) = 0;
  virtual void write(std::string piece) = 0;
  virtual void end() = 0;
};

using WebHandler = std::function<void(WebRequest, std::shared_ptr<WebReply>)>;
// Checks each request after its headers, before its body is read. Returns an answer to refuse the
// request. Runs on the server's thread, so it must be fast.
using WebAdmission = std::function<std::optional<WebAnswer>(const WebRequest& head)>;
// Called with each answer that no handler gave: the request is malformed, too large or not admitted. It may change
// the answer. A malformed request has only a client.
using WebRefusal = std::function<void(const WebRequest& head, WebAnswer& answer)>;
struct WebHooks {
  WebAdmission admission = nullptr;  // none: all requests are let in
  WebRefusal refusal = nullptr;
};

bool has_control_character(std::string_view text);

// {"error": "..."} with a line for people.
WebAnswer web_error(int status, const std::string& text);
// Decodes "%2F" and "+" of a query or of a part of a path; nothing if an escape is malformed.
std::optional<std::string> percent_decoded(std::string_view text, bool plus_is_space);
// Splits "a/b/c" into decoded parts; nothing for an empty part in the middle, "." or "..", or a
// part with a control character (NUL is one) or a slash.
std::optional<std::vector<std::string>> path_parts(std::string_view path);

}  // namespace hone
