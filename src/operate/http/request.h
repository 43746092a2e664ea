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

// Names and values, in the order of arrival.
using WebHeaders = std::vector<std::pair<std::string, std::string>>;
// The value of the first header with this name, which must be in lower case; "" if there is none.
std::string_view header_of(const WebHeaders& headers, std::string_view name);

struct WebRequest {
  std::string method;  // "POST"
  std::string path;    // "/v1/models", as sent, without the query
  std::string query;   // the text after '?', as sent: "a=b"; "": none
  WebHeaders headers;
  std::string body;
  std::string client;                 // address of the client: "127.0.0.1"
  std::string protocol = "HTTP/1.1";  // "HTTP/1.0", "HTTP/1.1" or "HTTP/2.0"

  std::string_view header(std::string_view name) const { return header_of(headers, name); }
};

struct WebAnswer {
  int status = 200;
  std::string body;
  std::string type = "application/json";  // Content-Type; "": the header is not sent
  WebHeaders headers = {};
};

// Facts about the model that worked on a request, for the logs. "" and -1: unknown.
struct WorkFacts {
  std::string model = {}, version = {};
  int64_t tokens_in = -1, tokens_out = -1;  // tokens of the prompts, and generated tokens
};

// The client of a request, as seen by the code that works on the request. Any thread may use it.
class WebClient {
 public:
  virtual ~WebClient() = default;
  // Gives the facts for the logs; replaces those of an earlier call.
  virtual void tell(const WorkFacts&) {}
  // True if the client has left, or was disconnected because it reads too slowly. Further bytes do not reach it.
  virtual bool gone() const = 0;
  // Calls `f` once, on the server's thread, as soon as gone() is true. If gone() is true already, calls `f` at once,
  // on the calling thread.
  virtual void on_gone(std::function<void()> f) = 0;
};

// Sends the answer of a request to its client. Any thread may use this object, as soon as the handler has the request.
// If the object is destroyed without an answer, the client gets status 500.
class WebReply : public WebClient {
 public:
  // Sends a whole answer. Call it at most once. After begin() it does nothing.
  virtual void send(WebAnswer answer) = 0;
  // Sends an answer in pieces: call begin() once with the status, type and headers, then write() for each piece, then
  // end(). Without end() the client sees an incomplete answer.
  virtual void begin(WebAnswer head) = 0;
  virtual void write(std::string piece) = 0;
  virtual void end() = 0;
};

using WebHandler = std::function<void(WebRequest, std::shared_ptr<WebReply>)>;
// Checks each request after its headers, before its body is read. Returns an answer to refuse the
// request, or nullopt to admit it. Runs on the server's thread, so it must be fast.
using WebAdmission = std::function<std::optional<WebAnswer>(const WebRequest& head)>;
// Called before the server itself refuses a request, because the request is malformed, too large or not admitted. The
// function may change `answer`. If the request is malformed, `head` has only the member `client`.
using WebRefusal = std::function<void(const WebRequest& head, WebAnswer& answer)>;
struct WebHooks {
  WebAdmission admission = nullptr;  // null: every request is admitted
  WebRefusal refusal = nullptr;      // null: answers stay as they are
};

// Whether the text has a byte below 0x20, or 0x7f.
bool has_control_character(std::string_view text);

// The answer {"error": "<text>"} with this status.
WebAnswer web_error(int status, const std::string& text);
// Decodes escapes such as "%2F". If `plus_is_space`, "+" becomes a blank. nullopt if an escape is malformed.
std::optional<std::string> percent_decoded(std::string_view text, bool plus_is_space);
// Splits "/a/b/c" into the decoded parts "a", "b" and "c"; a slash at the end is ignored. nullopt if the path does not
// begin with '/', or a part is empty, "." or "..", is malformed, or decodes to a control character (such as NUL) or
// a slash.
std::optional<std::vector<std::string>> path_parts(std::string_view path);

}  // namespace hone
