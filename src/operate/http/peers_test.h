// Clients for the tests of the server: Client sends and reads plain bytes, Client2 speaks HTTP/2 through nghttp2.
#pragma once

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <nghttp2/nghttp2.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "operate/http/server.h"

namespace hone {

// Threads of handlers that answer later. The threads hold replies, and a reply uses the server. So the server must end
// after the threads.
class LateAnswers {
 public:
  template <class Answer>
  static void begin(Answer answer) {
    const std::lock_guard lock(mutex_);
    threads_.emplace_back(std::move(answer));
  }
  static void join() {
    const std::lock_guard lock(mutex_);
    for (std::thread& t : threads_) t.join();
    threads_.clear();
  }

 private:
  static inline std::mutex mutex_;
  static inline std::vector<std::thread> threads_;
};
struct EndServer {
  void operator()(HttpServer* server) const {
    LateAnswers::join();
    delete server;
  }
};
using StartedServer = std::unique_ptr<HttpServer, EndServer>;

inline StartedServer started(HttpOptions options, WebHandler handler) {
  auto server = HttpServer::start(options, std::move(handler));
  EXPECT_TRUE(server.ok()) << server.error().text();
  return StartedServer(server->release());
}

inline void echo(WebRequest r, const std::shared_ptr<WebReply>& reply) {
  reply->send({200, r.method + " " + r.path + " " + r.query + " " + r.body, "text/plain"});
}

class Client {
 public:
  explicit Client(int port) : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(static_cast<uint16_t>(port));
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::connect(socket_, reinterpret_cast<sockaddr*>(&to), sizeof to), 0);
    const timeval limit{60, 0};
    ::setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  }
  ~Client() { ::close(socket_); }
  Client(const Client&) = delete;
  void send(const std::string& bytes) {
    EXPECT_EQ(::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(bytes.size()));
  }
  // Reads until the bytes end with `until`, or the server ends the connection.
  std::string read(const std::string& until = "\n\n\n") {
    std::string all;
    char buffer[4096];
    while (!all.ends_with(until)) {
      const ssize_t n = ::recv(socket_, buffer, sizeof buffer, 0);
      if (n <= 0) return all;
      all.append(buffer, static_cast<size_t>(n));
    }
    return all;
  }
  void leave() { ::shutdown(socket_, SHUT_RDWR); }

 protected:
  int socket_;
};

// One connection of HTTP/2. Only until() and flush() read or send.
class Client2 : public Client {
 public:
  struct Answer {
    int status = 0;
    std::string body;
    bool closed = false;
    uint32_t error = 0;  // the HTTP/2 error code with which the stream was closed; 0: no error
  };

  // `window`: bytes of each stream that the server may send before the client takes them.
  explicit Client2(int port, uint32_t window = 65535) : Client(port) {
    nghttp2_session_callbacks* calls = nullptr;
    nghttp2_session_callbacks_new(&calls);
    nghttp2_session_callbacks_set_on_header_callback(calls, on_header);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(calls, on_data);
    nghttp2_session_callbacks_set_on_stream_close_callback(calls, on_close);
    nghttp2_session_callbacks_set_on_frame_recv_callback(calls, on_frame);
    nghttp2_session_client_new(&session_, calls, this);
    nghttp2_session_callbacks_del(calls);
    const nghttp2_settings_entry settings[] = {{NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, window}};
    nghttp2_submit_settings(session_, NGHTTP2_FLAG_NONE, settings, 1);
  }
  ~Client2() { nghttp2_session_del(session_); }

  // Submits a request and returns the id of its stream. `ends` false: the request stays open until more().
  int32_t ask(const std::string& method, const std::string& path, const std::string& body = "",
              bool ends = true, const WebHeaders& more_headers = {}) {
    WebHeaders headers{
        {":method", method}, {":scheme", "http"}, {":path", path}, {":authority", "x"}};
    headers.insert(headers.end(), more_headers.begin(), more_headers.end());
    std::vector<nghttp2_nv> list;
    for (auto& [name, value] : headers)
      list.push_back({reinterpret_cast<uint8_t*>(name.data()),
                      reinterpret_cast<uint8_t*>(value.data()), name.size(), value.size(),
                      NGHTTP2_NV_FLAG_NONE});
    const nghttp2_data_provider data = provider(body, ends);
    const int32_t id = nghttp2_submit_request(session_, nullptr, list.data(), list.size(),
                                              body.empty() && ends ? nullptr : &data, nullptr);
    EXPECT_GT(id, 0);
    return id;
  }
  void more(int32_t id, const std::string& body) {
    const nghttp2_data_provider data = provider(body, true);
    EXPECT_EQ(nghttp2_submit_data(session_, NGHTTP2_FLAG_END_STREAM, id, &data), 0);
  }

  const Answer& answer(int32_t id) { return answers_[id]; }
  bool going_away() const { return going_away_; }
  int32_t last_id() const { return last_id_; }
  uint32_t going_error() const { return going_error_; }
  bool ended() const { return ended_; }
  // The last value of a setting from the server.
  uint32_t setting(nghttp2_settings_id id) const {
    return nghttp2_session_get_remote_settings(session_, id);
  }

  void flush() {
    const uint8_t* bytes = nullptr;
    std::string all;
    for (ssize_t n; (n = nghttp2_session_mem_send(session_, &bytes)) > 0;)
      all.append(reinterpret_cast<const char*>(bytes), static_cast<size_t>(n));
    if (!all.empty() &&
        ::send(socket_, all.data(), all.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(all.size()))
      ended_ = true;
  }
  // Sends and reads until done() returns true. Returns false if a minute passes first, or if the server ends the
  // connection first.
  template <class F>
  bool until(F done) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (!done()) {
      flush();
      if (ended_ || std::chrono::steady_clock::now() > end) return done();
      pollfd p{socket_, POLLIN, 0};
      if (::poll(&p, 1, 100) <= 0) continue;
      uint8_t buffer[16 << 10];
      const ssize_t n = ::recv(socket_, buffer, sizeof buffer, 0);
      if (n <= 0 || nghttp2_session_mem_recv(session_, buffer, static_cast<size_t>(n)) < 0)
        ended_ = true;
    }
    return true;
  }
  bool answered(int32_t id) {
    return until([&] { return answers_[id].closed; });
  }

 private:
  struct Body {
    std::string text;
    size_t sent = 0;
    bool ends = true;
  };
  nghttp2_data_provider provider(const std::string& text, bool ends) {
    bodies_.push_back(std::make_unique<Body>(Body{text, 0, ends}));
    nghttp2_data_provider data{};
    data.source.ptr = bodies_.back().get();
    data.read_callback = read_data;
    return data;
  }
  static ssize_t read_data(nghttp2_session*, int32_t, uint8_t* to, size_t room, uint32_t* flags,
                           nghttp2_data_source* source, void*) {
    Body& b = *static_cast<Body*>(source->ptr);
    const size_t n = std::min(room, b.text.size() - b.sent);
    std::memcpy(to, b.text.data() + b.sent, n);
    b.sent += n;
    if (b.sent == b.text.size())
      *flags |= NGHTTP2_DATA_FLAG_EOF | (b.ends ? 0u : uint32_t{NGHTTP2_DATA_FLAG_NO_END_STREAM});
    return static_cast<ssize_t>(n);
  }
  static int on_header(nghttp2_session*, const nghttp2_frame* frame, const uint8_t* name,
                       size_t name_size, const uint8_t* value, size_t value_size, uint8_t,
                       void* user) {
    if (std::string(reinterpret_cast<const char*>(name), name_size) == ":status")
      static_cast<Client2*>(user)->answers_[frame->hd.stream_id].status =
          std::stoi(std::string(reinterpret_cast<const char*>(value), value_size));
    return 0;
  }
  static int on_data(nghttp2_session*, uint8_t, int32_t id, const uint8_t* data, size_t size,
                     void* user) {
    static_cast<Client2*>(user)->answers_[id].body.append(reinterpret_cast<const char*>(data),
                                                          size);
    return 0;
  }
  static int on_close(nghttp2_session*, int32_t id, uint32_t error, void* user) {
    Answer& a = static_cast<Client2*>(user)->answers_[id];
    a.closed = true;
    a.error = error;
    return 0;
  }
  static int on_frame(nghttp2_session*, const nghttp2_frame* frame, void* user) {
    Client2& c = *static_cast<Client2*>(user);
    if (frame->hd.type != NGHTTP2_GOAWAY) return 0;
    c.going_away_ = true;
    c.last_id_ = frame->goaway.last_stream_id;
    c.going_error_ = frame->goaway.error_code;
    return 0;
  }

  nghttp2_session* session_ = nullptr;
  std::vector<std::unique_ptr<Body>> bodies_;
  std::map<int32_t, Answer> answers_;
  bool going_away_ = false, ended_ = false;
  int32_t last_id_ = 0;
  uint32_t going_error_ = 0;
};

}  // namespace hone
