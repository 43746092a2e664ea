#include "operate/http/server.h"

#include <fcntl.h>
#include <openssl/ssl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "base/core/clock.h"
#include "base/core/log.h"
#include "base/core/log_thrown.h"
#include "operate/http/errors.h"
#include "operate/http/wire.h"

namespace hone {
namespace {

using asio::ip::tcp;

Result<std::unique_ptr<asio::ssl::context>> tls_context(const HttpOptions& o) {
  if (o.tls_certificate.empty() && o.tls_key.empty()) return std::unique_ptr<asio::ssl::context>();
  if (o.tls_certificate.empty() || o.tls_key.empty())
    return Error(err::kHttpTls, "TLS needs a certificate and its key, one of them is not given")
        .at("--tls_certificate --tls_key")
        .todo("name both PEM files, or none for plain HTTP");
  auto tls = std::make_unique<asio::ssl::context>(asio::ssl::context::tls_server);
  tls->set_options(asio::ssl::context::default_workarounds | asio::ssl::context::no_sslv2 |
                   asio::ssl::context::no_sslv3 | asio::ssl::context::no_tlsv1 |
                   asio::ssl::context::no_tlsv1_1);
  beast::error_code failed;
  const auto refuse = [&](const std::string& file, const char* what) {
    return Error(err::kHttpTls, fmt::format("{} is not {}: {}", file, what, failed.message()))
        .at(file)
        .todo("give PEM files: the certificate with its chain, and the key that belongs to it");
  };
  tls->use_certificate_chain_file(o.tls_certificate, failed);
  if (failed) return refuse(o.tls_certificate, "a certificate");
  tls->use_private_key_file(o.tls_key, asio::ssl::context::pem, failed);
  if (failed) return refuse(o.tls_key, "the key of this certificate");
  SSL_CTX_set_alpn_select_cb(
      tls->native_handle(),
      [](SSL*, const unsigned char** out, unsigned char* size, const unsigned char* in,
         unsigned int bytes, void*) {
        static constexpr unsigned char kOffered[] = "\x02h2\x08http/1.1";
        unsigned char* chosen = nullptr;
        if (SSL_select_next_proto(&chosen, size, kOffered, sizeof kOffered - 1, in, bytes) !=
            OPENSSL_NPN_NEGOTIATED)
          return SSL_TLSEXT_ERR_NOACK;
        *out = chosen;
        return SSL_TLSEXT_ERR_OK;
      },
      nullptr);
  return tls;
}

// A new connection, until its version of HTTP is known.
class Greeting : public HttpConnection, public std::enable_shared_from_this<Greeting> {
 public:
  using Begin = std::function<void(const std::shared_ptr<HttpConnection>&)>;
  Greeting(std::shared_ptr<Wire> wire, HttpShared& shared, Begin begin)
      : wire_(std::move(wire)), shared_(shared), begin_(std::move(begin)) {}
  ~Greeting() override {
    if (!begun_) --shared_.connections;
  }
  void finish() override {
    beast::error_code ignored;
    if (!begun_) wire_->tcp().socket().close(ignored);
  }

  void start() {
    wire_->tcp().expires_after(seconds_of(shared_.options.request_seconds));
    if (!wire_->has_tls()) return read();
    wire_->handshake([self = shared_from_this()](beast::error_code failed) {
      if (!failed) self->read();
    });
  }

 private:
  void read() {
    wire_->read_some(buffer_.prepare(512),
                     [self = shared_from_this()](beast::error_code failed, size_t bytes) {
                       if (failed) return;
                       self->buffer_.commit(bytes);
                       self->look();
                     });
  }
  void look() {
    const std::string_view seen(static_cast<const char*>(buffer_.data().data()), buffer_.size());
    const size_t common = std::min(seen.size(), kHttp2Preface.size());
    if (seen.substr(0, common) != kHttp2Preface.substr(0, common)) return begin(start_http1);
    if (common < kHttp2Preface.size()) return read();
    begin(start_http2);
  }
  template <class F>
  void begin(F make) {
    begun_ = true;
    begin_(make(wire_, shared_, std::move(buffer_)));
  }

  std::shared_ptr<Wire> wire_;
  HttpShared& shared_;
  Begin begin_;
  beast::flat_buffer buffer_;
  bool begun_ = false;
};

// The number of connections for which the process has file descriptors; raises its limit as far as it may and must.
size_t connections_of(size_t wanted) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return wanted;
  constexpr rlim_t kOthers = 256;  // files, stores, processes
  const rlim_t need = wanted + kOthers;
  if (limit.rlim_cur < need) {
    const rlimit raised{std::min(need, limit.rlim_max), limit.rlim_max};
    if (::setrlimit(RLIMIT_NOFILE, &raised) == 0) limit = raised;
  }
  if (limit.rlim_cur >= need) return wanted;
  const size_t few = std::max<size_t>(1, limit.rlim_cur - std::min(kOthers, limit.rlim_cur / 2));
  if (few >= wanted) return wanted;
  log_warning("the server takes {} connections at a time, not {}: this process may open {} files",
              few, wanted, limit.rlim_cur);
  return few;
}

asio::ip::address address_of_host(const std::string& host, beast::error_code& failed) {
  return asio::ip::make_address(host == "localhost" ? "127.0.0.1" : host, failed);
}

Status listen_at(tcp::acceptor& acceptor, const HttpOptions& o, const std::string& names) {
  beast::error_code failed;
  const asio::ip::address address = address_of_host(o.host, failed);
  const tcp::endpoint endpoint(address, static_cast<unsigned short>(o.port));
  if (!failed) acceptor.open(endpoint.protocol(), failed);
  if (!failed) acceptor.set_option(asio::socket_base::reuse_address(true), failed);
  if (!failed) acceptor.bind(endpoint, failed);
  if (!failed) acceptor.listen(asio::socket_base::max_listen_connections, failed);
  if (!failed) return Ok{};
  return Error(err::kHttpListen,
               fmt::format("cannot listen at {} port {}: {}", o.host, o.port, failed.message()))
      .at(names)
      .todo("name an address of this machine and a port that no other program has");
}

bool lacks_descriptor(const beast::error_code& failed) {
  return failed.category() == boost::system::system_category() &&
         (failed.value() == EMFILE || failed.value() == ENFILE || failed.value() == ENOBUFS ||
          failed.value() == ENOMEM);
}

}  // namespace

bool is_reached_by_others(const std::string& host) {
  beast::error_code failed;
  const asio::ip::address address = address_of_host(host, failed);
  return !failed && !address.is_loopback();
}

struct HttpServer::Impl {
  HttpShared shared;  // outlives the connections; they end with the context
  asio::io_context context{1};
  std::unique_ptr<asio::ssl::context> tls;
  tcp::acceptor acceptor{context};
  asio::executor_work_guard<asio::io_context::executor_type> work{context.get_executor()};
  std::vector<std::weak_ptr<HttpConnection>> open;
  std::thread thread;
  asio::steady_timer retry{context};
  int spare = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  bool told = false;  // that there is no descriptor

  ~Impl() { ::close(spare); }

  // A failed allocation costs one connection.
  void run() {
    while (!log_if_thrown("a connection", [this] { context.run(); })) {
    }
  }

  void accept() {
    acceptor.async_accept([this](beast::error_code failed, tcp::socket socket) {
      if (!acceptor.is_open()) return;
      if (lacks_descriptor(failed)) return refuse_one();
      if (!failed) log_if_thrown("a new connection", [&] { greet(std::move(socket)); });
      accept();
    });
  }

  // Ends the first connection that waits, by the spare descriptor: it would make the system report it
  // again and again.
  void refuse_one() {
    if (!std::exchange(told, true))
      log_warning("no file descriptor is left: further connections are refused until some end");
    ::close(spare);
    if (const int fd = ::accept(acceptor.native_handle(), nullptr, nullptr); fd >= 0) ::close(fd);
    spare = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
    retry.expires_after(std::chrono::milliseconds(20));
    retry.async_wait([this](beast::error_code) {
      if (acceptor.is_open()) accept();
    });
  }

  void greet(tcp::socket socket) {
    if (shared.connections >= static_cast<int64_t>(shared.options.most_connections)) return;
    beast::error_code ignored;
    socket.set_option(tcp::no_delay(true), ignored);
    ++shared.connections;
    auto wire = std::make_shared<Wire>(std::move(socket), tls.get());
    const auto greeting = std::make_shared<Greeting>(
        std::move(wire), shared,
        [this](const std::shared_ptr<HttpConnection>& connection) { keep(connection); });
    keep(greeting);
    greeting->start();
  }

  void keep(const std::shared_ptr<HttpConnection>& connection) {
    std::erase_if(open, [](const auto& w) { return w.expired(); });
    open.push_back(connection);
    if (shared.draining) connection->finish();
  }
};

Result<std::unique_ptr<HttpServer>> HttpServer::start(const HttpOptions& options,
                                                      WebHandler handler, WebHooks hooks,
                                                      const std::string& names) {
  auto impl = std::make_unique<Impl>();
  impl->shared.options = options;
  impl->shared.options.most_connections = connections_of(options.most_connections);
  impl->shared.options.most_open_bytes = std::max(options.most_open_bytes, options.most_body_bytes);
  impl->shared.hooks = std::move(hooks);
  impl->shared.handler = std::move(handler);
  impl->tls = HONE_TRY(tls_context(options));
  HONE_TRY(listen_at(impl->acceptor, options, names));
  impl->accept();
  impl->thread = std::thread([i = impl.get()] { i->run(); });
  return std::unique_ptr<HttpServer>(new HttpServer(std::move(impl)));
}

Status HttpServer::check_tls(const HttpOptions& options) {
  HONE_TRY(tls_context(options));
  return Ok{};
}

Status HttpServer::check_address(const HttpOptions& options, const std::string& names) {
  asio::io_context context{1};
  tcp::acceptor acceptor{context};
  return listen_at(acceptor, options, names);
}

HttpServer::HttpServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

HttpServer::~HttpServer() { stop(); }

void HttpServer::stop() {
  impl_->context.stop();
  if (impl_->thread.joinable()) impl_->thread.join();
}

int HttpServer::port() const { return impl_->acceptor.local_endpoint().port(); }

std::string HttpServer::url() const {
  const tcp::endpoint at = impl_->acceptor.local_endpoint();
  const std::string host =
      at.address().is_v6() ? "[" + at.address().to_string() + "]" : at.address().to_string();
  return fmt::format("{}://{}:{}", impl_->tls ? "https" : "http", host, at.port());
}

bool HttpServer::drain(double seconds) {
  asio::post(impl_->context, [i = impl_.get()] {
    beast::error_code ignored;
    i->acceptor.close(ignored);
    i->shared.draining = true;
    for (const auto& w : i->open)
      if (const auto connection = w.lock()) connection->finish();
  });
  const double end = system_clock().seconds() + seconds;
  while (system_clock().seconds() < end) {
    if (impl_->shared.connections == 0) return true;
    system_clock().sleep(0.005);
  }
  return impl_->shared.connections == 0;
}

int64_t HttpServer::requests() const { return impl_->shared.requests; }

}  // namespace hone
