// For tests: an HTTP server on the loopback address whose answers come from a function of the test. It handles one
// request at a time.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

#include "base/core/text.h"
#include "base/store/http.h"

namespace hone {

class ScriptedServer {
 public:
  struct Request {
    std::string method, target;  // target: path and query of the URL, not decoded
    HttpHeaders headers;
    std::string body;
    // The value of a header, whose name is in lower case; "": there is no such header.
    std::string header(const std::string& name) const {
      const auto it = headers.find(name);
      return it == headers.end() ? "" : it->second;
    }
  };
  struct Answer {
    int status = 200;
    HttpHeaders headers = {};
    std::string body = {};
    bool lost = false;       // the connection ends without an answer
    int64_t cut_after = -1;  // the connection ends after this number of bytes of the body
  };
  // Called in the server's thread.
  using Handler = std::function<Answer(const Request&)>;

  explicit ScriptedServer(Handler handler) : handler_(std::move(handler)) {
    listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof at;
    HONE_BUG_IF(::bind(listener_, reinterpret_cast<sockaddr*>(&at), size) != 0 ||
                    ::listen(listener_, 16) != 0 ||
                    ::getsockname(listener_, reinterpret_cast<sockaddr*>(&at), &size) != 0,
                "the server of a test has no port");
    port_ = ntohs(at.sin_port);
    thread_ = std::thread([this] { serve(); });
  }
  ScriptedServer(const ScriptedServer&) = delete;
  ~ScriptedServer() {
    ::shutdown(listener_, SHUT_RDWR);  // accept() returns
    thread_.join();
    ::close(listener_);
  }

  std::string endpoint() const { return fmt::format("http://127.0.0.1:{}", port_); }
  // Calls `f` while the handler is not running, so that `f` may use the handler's state. Returns its result.
  template <class F>
  auto locked(F f) {
    std::lock_guard lock(mutex_);
    return f();
  }

 private:
  void serve() {
    for (int fd; (fd = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC)) >= 0; ::close(fd)) {
      const timeval patience{.tv_sec = 60, .tv_usec = 0};
      ::setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
      Request request;
      if (read(fd, request)) answer(fd, request);
    }
  }

  static bool read(int fd, Request& r) {
    std::string text;
    const auto more = [&] {
      char bytes[65536];
      const ssize_t n = ::recv(fd, bytes, sizeof bytes, 0);
      if (n > 0) text.append(bytes, static_cast<size_t>(n));
      return n > 0;
    };
    size_t end;
    while ((end = text.find("\r\n\r\n")) == std::string::npos)
      if (!more()) return false;
    const std::vector<std::string> lines = split(text.substr(0, end), '\n');
    const std::vector<std::string> first = split(lines[0], ' ');
    r.method = first[0];
    r.target = first.size() > 1 ? first[1] : "";
    for (const std::string& line : lines)
      if (const size_t colon = line.find(':'); colon != std::string::npos && &line != &lines[0])
        r.headers[to_lower(line.substr(0, colon))] = std::string(trim(line.substr(colon + 1)));
    const std::string length = r.header("content-length");
    const size_t body = length.empty() ? 0 : std::stoul(length);
    while (text.size() < end + 4 + body)
      if (!more()) return false;
    r.body = text.substr(end + 4, body);
    return true;
  }

  void answer(int fd, const Request& request) {
    const Answer a = locked([&] { return handler_(request); });
    if (a.lost) return;
    std::string text = fmt::format("HTTP/1.1 {} -\r\nconnection: close\r\n", a.status);
    for (const auto& [name, value] : a.headers) text += name + ": " + value + "\r\n";
    if (!a.headers.contains("content-length") && a.status != 204 && a.status != 304)
      text += fmt::format("content-length: {}\r\n", a.body.size());
    text += "\r\n";
    if (request.method != "HEAD")
      text += a.cut_after < 0 ? a.body : a.body.substr(0, static_cast<size_t>(a.cut_after));
    for (std::string_view rest = text; !rest.empty();) {
      const ssize_t n = ::send(fd, rest.data(), rest.size(), MSG_NOSIGNAL);
      if (n <= 0) return;
      rest.remove_prefix(static_cast<size_t>(n));
    }
  }

  Handler handler_;
  std::mutex mutex_;
  int listener_ = -1, port_ = 0;
  std::thread thread_;
};

}  // namespace hone
