#include "operate/monitor/metrics_server.h"

#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <optional>
#include <thread>

#include "operate/monitor/errors.h"

namespace hone {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using asio::ip::tcp;

// Limits of a request with its answer, and of the bytes of a request.
constexpr std::chrono::seconds kMostTime{10};
constexpr size_t kMostBytes = 16 << 10;

http::response<http::string_body> answer_to(const http::request<http::string_body>& request,
                                            const Metrics& metrics) {
  const auto make = [&](http::status status, std::string body, const char* type) {
    http::response<http::string_body> r{status, request.version()};
    r.set(http::field::content_type, type);
    r.keep_alive(request.keep_alive());
    r.body() = std::move(body);
    r.prepare_payload();
    if (request.method() == http::verb::head) r.body().clear();  // its length stays
    return r;
  };
  constexpr const char* kPlain = "text/plain; charset=utf-8";
  if (request.method() != http::verb::get && request.method() != http::verb::head)
    return make(http::status::method_not_allowed, "only GET and HEAD\n", kPlain);
  const std::string_view target(request.target().data(), request.target().size());
  const std::string_view path = target.substr(0, target.find('?'));
  if (path == "/metrics") return make(http::status::ok, prometheus_text(metrics), kPrometheusType);
  if (path == "/healthz") return make(http::status::ok, "ok\n", kPlain);
  return make(http::status::not_found, "/metrics and /healthz are here\n", kPlain);
}

class Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(tcp::socket socket, const Metrics& metrics)
      : stream_(std::move(socket)), metrics_(metrics) {}

  void read() {
    parser_.emplace();
    parser_->body_limit(kMostBytes);
    parser_->header_limit(kMostBytes);
    stream_.expires_after(kMostTime);
    http::async_read(stream_, buffer_, *parser_,
                     [self = shared_from_this()](beast::error_code failed, size_t) {
                       if (!failed) self->answer();
                     });
  }

 private:
  void answer() {
    response_ = answer_to(parser_->get(), metrics_);
    http::async_write(stream_, response_,
                      [self = shared_from_this()](beast::error_code failed, size_t) {
                        if (!failed && self->response_.keep_alive()) return self->read();
                        beast::error_code ignored;
                        self->stream_.socket().shutdown(tcp::socket::shutdown_send, ignored);
                      });
  }

  beast::tcp_stream stream_;
  const Metrics& metrics_;
  beast::flat_buffer buffer_{kMostBytes};
  std::optional<http::request_parser<http::string_body>> parser_;
  http::response<http::string_body> response_;
};

}  // namespace

struct MetricsServer::Impl {
  explicit Impl(const Metrics& m) : metrics(m), acceptor(context) {}
  const Metrics& metrics;
  asio::io_context context{1};
  tcp::acceptor acceptor;
  std::thread thread;

  void accept() {
    acceptor.async_accept([this](beast::error_code failed, tcp::socket socket) {
      if (!acceptor.is_open()) return;
      if (!failed) std::make_shared<Connection>(std::move(socket), metrics)->read();
      accept();
    });
  }
};

Result<std::unique_ptr<MetricsServer>> MetricsServer::start(const Metrics& metrics,
                                                            const std::string& host, int port) {
  auto impl = std::make_unique<Impl>(metrics);
  beast::error_code failed;
  const asio::ip::address address =
      asio::ip::make_address(host == "localhost" ? "127.0.0.1" : host, failed);
  const tcp::endpoint endpoint(address, static_cast<unsigned short>(port));
  if (!failed) impl->acceptor.open(endpoint.protocol(), failed);
  if (!failed) impl->acceptor.set_option(asio::socket_base::reuse_address(true), failed);
  if (!failed) impl->acceptor.bind(endpoint, failed);
  if (!failed) impl->acceptor.listen(asio::socket_base::max_listen_connections, failed);
  if (failed)
    return Error(err::kCannotListen,
                 fmt::format("cannot listen at {} port {}: {}", host, port, failed.message()))
        .at(fmt::format("--metrics_host {} --metrics_port {}", host, port))
        .todo("name an address of this machine and a port that no other program has");
  impl->accept();
  impl->thread = std::thread([i = impl.get()] { i->context.run(); });
  return std::unique_ptr<MetricsServer>(new MetricsServer(std::move(impl)));
}

MetricsServer::MetricsServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

MetricsServer::~MetricsServer() {
  impl_->context.stop();
  impl_->thread.join();
}

int MetricsServer::port() const { return impl_->acceptor.local_endpoint().port(); }

}  // namespace hone
