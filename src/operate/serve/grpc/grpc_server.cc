#include "operate/serve/grpc/grpc_server.h"

#include <mutex>

#include "base/core/module.h"
#include "base/core/text.h"
#include "operate/serve/grpc/errors.h"
#include "operate/serve/grpc/grpc_module.h"

namespace hone {
namespace {

constexpr const char* kModule = "libhone_grpc.so";

Error no_grpc(const std::string& why) {
  return Error(err::kGrpc, fmt::format("cannot speak gRPC: {}", why))
      .at("--grpc_port")
      .todo(
          "install libgrpc++-dev and protobuf-compiler-grpc and build hone again, or serve without "
          "--grpc_port");
}

Result<GrpcStart> load_grpc() {
  const Result<Module> module = load_beside_program(kModule);
  if (!module.ok()) return no_grpc(module.error().what());
  if (const auto start = module->symbol<GrpcStart>("hone_grpc_start")) return start;
  return no_grpc(fmt::format("{} is not a module of hone", kModule));
}

// Collects the answer of a route.
class GatheredReply : public WebReply {
 public:
  explicit GatheredReply(std::function<void(GrpcDoor::Answer)> done) : done_(std::move(done)) {}
  ~GatheredReply() override {
    if (auto done = take()) done({});
  }
  void send(WebAnswer a) override {
    if (auto done = take()) done(answer_of(std::move(a)));
  }
  void begin(WebAnswer head) override { head_ = std::move(head); }
  void write(std::string piece) override { head_.body += piece; }
  void end() override {
    if (auto done = take()) done(answer_of(std::move(head_)));
  }
  bool gone() const override { return gone_; }
  void on_gone(std::function<void()> f) override {
    {
      std::lock_guard lock(mutex_);
      if (!gone_) {
        on_gone_ = std::move(f);
        return;
      }
    }
    f();
  }
  void leave() {
    std::function<void()> f;
    {
      std::lock_guard lock(mutex_);
      if (gone_.exchange(true)) return;
      f = std::move(on_gone_);
    }
    if (f) f();
  }

 private:
  static GrpcDoor::Answer answer_of(WebAnswer a) {
    GrpcDoor::Answer out{a.status, {}, std::move(a.body)};
    for (auto& [name, value] : a.headers) {
      for (char& c : name) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
      out.headers.emplace_back(name, value);
    }
    return out;
  }
  std::function<void(GrpcDoor::Answer)> take() {
    std::lock_guard lock(mutex_);
    return std::exchange(done_, nullptr);
  }

  std::mutex mutex_;
  std::function<void(GrpcDoor::Answer)> done_;
  std::function<void()> on_gone_;
  std::atomic<bool> gone_ = false;
  WebAnswer head_;
};

std::function<void()> leave_of(const std::shared_ptr<GatheredReply>& reply) {
  return [weak = std::weak_ptr(reply)] {
    if (const auto left = weak.lock()) left->leave();
  };
}

}  // namespace

class GrpcServer::Door : public GrpcDoor {
 public:
  explicit Door(InferenceServer& server) : server_(server) {}
  std::function<void()> ask(std::string method, std::string path, Headers headers, std::string body,
                            std::function<void(Answer)> done) override {
    WebRequest r;
    r.method = std::move(method);
    r.path = std::move(path);
    r.headers = std::move(headers);
    r.body = std::move(body);
    const auto reply = std::make_shared<GatheredReply>(std::move(done));
    server_.take(std::move(r), reply);
    return leave_of(reply);
  }

 private:
  InferenceServer& server_;
};

GrpcServer::GrpcServer(std::unique_ptr<Door> door) : door_(std::move(door)) {}
GrpcServer::~GrpcServer() = default;

Result<std::unique_ptr<GrpcServer>> GrpcServer::start(const HttpOptions& options,
                                                      InferenceServer& server) {
  const GrpcStart start = HONE_TRY(load_grpc());
  GrpcRequest r;
  const std::string host = options.host == "localhost" ? "127.0.0.1" : options.host;
  r.address = fmt::format("{}:{}", host.find(':') == std::string::npos ? host : "[" + host + "]",
                          options.port);
  r.most_bytes = static_cast<int64_t>(options.most_body_bytes);
  if (!options.tls_certificate.empty()) {
    r.certificate = HONE_TRY(read_file(options.tls_certificate));
    r.key = HONE_TRY(read_file(options.tls_key));
  }
  std::unique_ptr<GrpcServer> g(new GrpcServer(std::make_unique<Door>(server)));
  std::string why;
  g->listener_.reset(start(kGrpcModuleVersion, r, *g->door_, why));
  if (!g->listener_) return no_grpc(why);
  return g;
}

int GrpcServer::port() const { return listener_->port(); }
void GrpcServer::stop(double seconds) { listener_->stop(seconds); }

}  // namespace hone
