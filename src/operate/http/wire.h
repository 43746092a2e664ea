// A connection's bytes, with or without TLS, for Beast's and Asio's asynchronous functions.
#pragma once

#include <atomic>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <boost/beast/ssl.hpp>
#include <chrono>
#include <optional>

#include "operate/http/options.h"
#include "operate/http/request.h"

namespace hone {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;

class Wire {
 public:
  using executor_type = beast::tcp_stream::executor_type;

  Wire(asio::ip::tcp::socket socket, asio::ssl::context* tls) : tcp_(std::move(socket)) {
    if (tls != nullptr) tls_.emplace(tcp_, *tls);
  }
  Wire(const Wire&) = delete;

  executor_type get_executor() { return tcp_.get_executor(); }
  beast::tcp_stream& tcp() { return tcp_; }
  asio::ssl::stream<beast::tcp_stream&>* tls() { return tls_ ? &*tls_ : nullptr; }

  template <class Buffers, class Handler>
  void async_read_some(const Buffers& buffers, Handler&& handler) {
    if (tls_) return tls_->async_read_some(buffers, std::forward<Handler>(handler));
    tcp_.async_read_some(buffers, std::forward<Handler>(handler));
  }
  template <class Buffers, class Handler>
  void async_write_some(const Buffers& buffers, Handler&& handler) {
    if (tls_) return tls_->async_write_some(buffers, std::forward<Handler>(handler));
    tcp_.async_write_some(buffers, std::forward<Handler>(handler));
  }

 private:
  beast::tcp_stream tcp_;
  std::optional<asio::ssl::stream<beast::tcp_stream&>> tls_;
};

// State that the connections of a server share. Used only on the server's thread, except the
// counters.
struct HttpShared {
  HttpOptions options;
  WebHandler handler;
  bool draining = false;
  std::atomic<int64_t> connections{0}, requests{0};
};

inline std::chrono::steady_clock::duration seconds_of(double s) {
  return std::chrono::duration_cast<std::chrono::steady_clock::duration>(
      std::chrono::duration<double>(s));
}

class HttpConnection {
 public:
  virtual ~HttpConnection() = default;
  // Called when the server drains: ends the connection once it has no open request.
  virtual void finish() = 0;
};

// Starts a connection. `begun`: bytes of it that are read already. The connection owns itself and
// decrements `connections` when it ends.
std::shared_ptr<HttpConnection> start_http1(std::shared_ptr<Wire> wire, HttpShared& shared,
                                            beast::flat_buffer begun);
std::shared_ptr<HttpConnection> start_http2(std::shared_ptr<Wire> wire, HttpShared& shared,
                                            beast::flat_buffer begun);

// The first bytes of an HTTP/2 client.
inline constexpr std::string_view kHttp2Preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

}  // namespace hone
