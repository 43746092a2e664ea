#include "operate/serve/grpc/grpc_server.h"

#include <mutex>

#include "base/core/module.h"
#include "base/core/text.h"
#include "operate/http/departure.h"
#include "operate/http/server.h"
#include "operate/serve/grpc/errors.h"
#include "operate/serve/grpc/grpc_module.h"
#include "operate/serve/protocol/json_body.h"
#include "operate/serve/request_id.h"

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

// Calls `done` once: with an answer, or without one when the last holder goes.
template <class Answer>
class Once {
 public:
  explicit Once(std::function<void(Answer)> done) : done_(std::move(done)) {}
  ~Once() { (*this)({}); }
  void operator()(Answer answer) {
    std::function<void(Answer)> done;
    {
      std::lock_guard lock(mutex_);
      done = std::exchange(done_, nullptr);
    }
    if (done) done(std::move(answer));
  }

 private:
  std::mutex mutex_;
  std::function<void(Answer)> done_;
};

// The answer of a route, gathered.
class GatheredReply : public ConnectionReply {
 public:
  explicit GatheredReply(std::function<void(GrpcDoor::Answer)> done) : done_(std::move(done)) {}
  void send(WebAnswer a) override { done_({a.status, std::move(a.body)}); }
  void begin(WebAnswer head) override { head_ = std::move(head); }
  void write(std::string piece) override { head_.body += piece; }
  void end() override { send(std::move(head_)); }

 private:
  Once<GrpcDoor::Answer> done_;
  WebAnswer head_;
};

using GrpcClient = Departing<WebClient>;

// Ends a request when its client leaves.
template <class Client>
std::function<void()> leave_of(const std::shared_ptr<Client>& client) {
  return [weak = std::weak_ptr(client)] {
    if (const auto left = weak.lock()) left->left();
  };
}

// "ipv6:%5B::1%5D:41234" -> "::1"
std::string address_of(const std::string& client) {
  std::string text = percent_decoded(client, false).value_or(client);
  const size_t scheme = text.find(':'), port = text.rfind(':');
  if (scheme == std::string::npos || port == scheme) return text;
  text = text.substr(scheme + 1, port - scheme - 1);
  return text.starts_with('[') && text.ends_with(']') ? text.substr(1, text.size() - 2) : text;
}

WebRequest request_of(std::string method, GrpcDoor::Caller caller) {
  WebRequest r;
  r.method = std::move(method);
  r.headers = std::move(caller.headers);
  r.client = address_of(caller.client);
  r.protocol = "gRPC";
  return r;
}

Json settings_of(const GrpcDoor::Parameters& parameters) {
  Json settings = Json::object();
  for (const auto& [key, value] : parameters)
    if (key != "binary_data_output")
      std::visit([&, &k = key](const auto& v) { settings[k] = v; }, value);
  whole_numbers(settings);
  return settings;
}

}  // namespace

class GrpcServer::Door : public GrpcDoor {
 public:
  explicit Door(InferenceServer& server) : server_(server) {}
  std::string request_id(const Headers& headers) override { return request_id_of(headers); }
  std::function<void()> ask(std::string method, std::string path, Caller caller, std::string body,
                            std::function<void(Answer)> done) override {
    WebRequest r = request_of(std::move(method), std::move(caller));
    r.path = std::move(path);
    r.body = std::move(body);
    const auto reply = std::make_shared<GatheredReply>(std::move(done));
    server_.take(std::move(r), reply);
    return leave_of(reply);
  }
  std::function<void()> infer(TensorQuestion question, const Parameters& parameters, Caller caller,
                              std::function<void(Inferred)> done) override {
    const auto client = std::make_shared<GrpcClient>();
    const auto once = std::make_shared<Once<Inferred>>(std::move(done));
    server_.infer(request_of("POST", std::move(caller)),
                  {std::move(question), settings_of(parameters)}, client,
                  [once](InferenceServer::Inferred i) {
                    (*once)({i.status, std::move(i.error), std::move(i.answer)});
                  });
    return leave_of(client);
  }

 private:
  InferenceServer& server_;
};

GrpcServer::GrpcServer(std::unique_ptr<Door> door) : door_(std::move(door)) {}
GrpcServer::~GrpcServer() = default;

Result<std::unique_ptr<ServerDoor>> GrpcServer::start(const HttpOptions& options,
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
  return std::unique_ptr<ServerDoor>(std::move(g));
}

Status GrpcServer::check(const HttpOptions& options) {
  HONE_TRY(load_grpc());
  return HttpServer::check_address(options, "--host --grpc_port");
}

int GrpcServer::port() const { return listener_->port(); }
void GrpcServer::stop(double seconds) { listener_->stop(seconds); }

}  // namespace hone
