// libhone_grpc.so: GRPCInferenceService, with the interface of ../grpc_module.h.
#include <grpcpp/grpcpp.h>
#include <grpcpp/resource_quota.h>
#include <inference.grpc.pb.h>

#include <algorithm>
#include <cctype>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>

#include "operate/serve/grpc/grpc_module.h"

namespace hone {
namespace {

using nlohmann::json;

std::string escaped(const std::string& part) {
  constexpr char kHex[] = "0123456789ABCDEF";
  std::string out;
  for (const char c : part) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_' || c == '.') {
      out += c;
    } else {
      out += '%';
      out += kHex[static_cast<unsigned char>(c) >> 4];
      out += kHex[c & 15];
    }
  }
  return out;
}

std::string model_path(const std::string& name, const std::string& version,
                       const std::string& verb) {
  return "/v2/models/" + escaped(name) + (version.empty() ? "" : "/versions/" + escaped(version)) +
         (verb.empty() ? "" : "/" + verb);
}

// The code of gRPC for a status of HTTP that is not 200.
grpc::StatusCode code_of(int status) {
  using grpc::StatusCode;
  constexpr std::pair<int, StatusCode> kCodes[] = {
      {400, StatusCode::INVALID_ARGUMENT},   {401, StatusCode::UNAUTHENTICATED},
      {404, StatusCode::NOT_FOUND},          {413, StatusCode::RESOURCE_EXHAUSTED},
      {429, StatusCode::RESOURCE_EXHAUSTED}, {503, StatusCode::UNAVAILABLE},
      {504, StatusCode::DEADLINE_EXCEEDED}};
  for (const auto& [http, code] : kCodes)
    if (http == status) return code;
  return StatusCode::INTERNAL;
}

grpc::Status status_of(const GrpcDoor::Answer& a) {
  if (a.status == 200) return grpc::Status::OK;
  const json j = json::parse(a.body, nullptr, false);
  const std::string text = j.is_object() && j.contains("error") && j["error"].is_string()
                               ? j["error"].get<std::string>()
                               : a.body;
  return {code_of(a.status), text};
}

// The caller, whose answer names the request.
GrpcDoor::Caller caller_of(grpc::CallbackServerContext& context, GrpcDoor& door) {
  GrpcDoor::Caller caller;
  for (const auto& [name, value] : context.client_metadata())
    caller.headers.emplace_back(std::string(name.data(), name.size()),
                                std::string(value.data(), value.size()));
  const std::string name = "x-request-id", id = door.request_id(caller.headers);
  std::erase_if(caller.headers, [&](const auto& header) { return header.first == name; });
  caller.headers.emplace_back(name, id);
  caller.client = context.peer();
  context.AddInitialMetadata(name, id);
  return caller;
}

json parameters_of(const inference::RepositoryModelLoadRequest& r) {
  using Parameter = inference::ModelRepositoryParameter;
  json out = json::object();
  for (const auto& [key, value] : r.parameters()) switch (value.parameter_choice_case()) {
      case Parameter::kBoolParam:
        out[key] = value.bool_param();
        break;
      case Parameter::kInt64Param:
        out[key] = value.int64_param();
        break;
      case Parameter::kStringParam:
        out[key] = value.string_param();
        break;
      default:
        out[key] = nullptr;
    }
  return out;
}

GrpcDoor::Parameters settings_of(const inference::ModelInferRequest& r) {
  GrpcDoor::Parameters all;
  for (const auto& [key, value] : r.parameters()) switch (value.parameter_choice_case()) {
      case inference::InferParameter::kBoolParam:
        all.emplace_back(key, value.bool_param());
        break;
      case inference::InferParameter::kInt64Param:
        all.emplace_back(key, static_cast<int64_t>(value.int64_param()));
        break;
      case inference::InferParameter::kStringParam:
        all.emplace_back(key, value.string_param());
        break;
      case inference::InferParameter::kDoubleParam:
        all.emplace_back(key, value.double_param());
        break;
      case inference::InferParameter::kUint64Param:
        all.emplace_back(key, static_cast<int64_t>(value.uint64_param()));
        break;
      default:
        break;
    }
  return all;
}

TensorQuestion question_of(const inference::ModelInferRequest& r) {
  TensorQuestion q;
  q.model = r.model_name();
  q.version = r.model_version();
  q.id = r.id();
  for (int i = 0; i < r.inputs_size(); ++i) {
    const auto& input = r.inputs(i);
    InferTensor t{input.name(), input.datatype()};
    t.shape.assign(input.shape().begin(), input.shape().end());
    const auto& texts = input.contents().bytes_contents();
    if (i < r.raw_input_contents_size())
      t.bytes = r.raw_input_contents(i);
    else if (t.datatype == "BYTES")
      t.texts.assign(texts.begin(), texts.end());
    q.inputs.push_back(std::move(t));
    for (const auto& [key, value] : input.parameters()) q.unread.push_back(key);
  }
  for (const auto& o : r.outputs()) {
    q.wanted.push_back(o.name());
    for (const auto& [key, value] : o.parameters()) q.unread.push_back(key);
  }
  return q;
}

grpc::Status read_answer(GrpcDoor::Inferred&& a, inference::ModelInferResponse* out) {
  if (a.status != 200) return {code_of(a.status), a.error};
  out->set_model_name(a.answer.model);
  out->set_model_version(a.answer.version);
  out->set_id(a.answer.id);
  for (InferTensor& t : a.answer.outputs) {
    auto* to = out->add_outputs();
    to->set_name(t.name);
    to->set_datatype(t.datatype);
    for (const int64_t d : t.shape) to->add_shape(d);
    out->add_raw_output_contents(std::move(t.bytes));
  }
  return grpc::Status::OK;
}

void read_duration(const json& j, inference::StatisticDuration* to) {
  to->set_count(j["count"]);
  to->set_ns(j["ns"]);
}

void read_statistics(const json& m, inference::ModelStatistics& to) {
  to.set_name(m["name"]);
  to.set_version(m["version"]);
  to.set_last_inference(m["last_inference"]);
  to.set_inference_count(m["inference_count"]);
  to.set_execution_count(m["execution_count"]);
  const json& of_requests = m["inference_stats"];
  auto& stats = *to.mutable_inference_stats();
  read_duration(of_requests["success"], stats.mutable_success());
  read_duration(of_requests["fail"], stats.mutable_fail());
  read_duration(of_requests["queue"], stats.mutable_queue());
  read_duration(of_requests["compute_input"], stats.mutable_compute_input());
  read_duration(of_requests["compute_infer"], stats.mutable_compute_infer());
  read_duration(of_requests["compute_output"], stats.mutable_compute_output());
  read_duration(of_requests["cache_hit"], stats.mutable_cache_hit());
  read_duration(of_requests["cache_miss"], stats.mutable_cache_miss());
  for (const json& b : m["batch_stats"]) {
    auto* batch = to.add_batch_stats();
    batch->set_batch_size(b["batch_size"]);
    read_duration(b["compute_input"], batch->mutable_compute_input());
    read_duration(b["compute_infer"], batch->mutable_compute_infer());
    read_duration(b["compute_output"], batch->mutable_compute_output());
  }
}

// Links a call and the request that answers it; either may end first.
template <class Reactor>
class Link {
 public:
  explicit Link(Reactor* reactor) : reactor_(reactor) {}
  template <class F>
  void with_reactor(F f) {
    std::lock_guard lock(mutex_);
    if (reactor_ != nullptr) f(*reactor_);
  }
  void forget_reactor() {
    std::lock_guard lock(mutex_);
    reactor_ = nullptr;
  }
  void ends_by(std::function<void()> end) {
    std::lock_guard lock(mutex_);
    end_ = std::move(end);
  }
  void end_request() {
    std::function<void()> end;
    {
      std::lock_guard lock(mutex_);
      end = end_;
    }
    if (end) end();
  }

 private:
  std::mutex mutex_;
  Reactor* reactor_;
  std::function<void()> end_;
};

// A unary call, answered by one request to the server.
class Call : public grpc::ServerUnaryReactor {
 public:
  using Read = std::function<grpc::Status(const GrpcDoor::Answer&)>;
  void start(GrpcDoor& door, std::string method, std::string path, GrpcDoor::Caller caller,
             std::string body, Read read) {
    // The call may be done and destroyed before ask() returns.
    const auto link = link_;
    link->ends_by(door.ask(std::move(method), std::move(path), std::move(caller), std::move(body),
                           [link, read](const GrpcDoor::Answer& a) {
                             link->with_reactor([&](Call& c) { c.Finish(read(a)); });
                           }));
  }
  void start_infer(GrpcDoor& door, const inference::ModelInferRequest& r, GrpcDoor::Caller caller,
                   inference::ModelInferResponse* out) {
    const auto link = link_;
    link->ends_by(door.infer(
        question_of(r), settings_of(r), std::move(caller), [link, out](GrpcDoor::Inferred a) {
          link->with_reactor([&](Call& c) { c.Finish(read_answer(std::move(a), out)); });
        }));
  }
  void OnCancel() override { link_->end_request(); }
  void OnDone() override {
    link_->forget_reactor();
    delete this;
  }

 private:
  std::shared_ptr<Link<Call>> link_ = std::make_shared<Link<Call>>(this);
};

// A stream: one request after another.
class Stream : public grpc::ServerBidiReactor<inference::ModelInferRequest,
                                              inference::ModelStreamInferResponse> {
 public:
  Stream(GrpcDoor& door, GrpcDoor::Caller caller) : door_(door), caller_(std::move(caller)) {
    StartRead(&request_);
  }
  void OnReadDone(bool ok) override {
    if (!ok) return Finish(grpc::Status::OK);
    // The stream may end, and go, before ask() returns.
    const auto link = link_;
    link->ends_by(door_.infer(question_of(request_), settings_of(request_), caller_,
                              [link](GrpcDoor::Inferred a) {
                                link->with_reactor([&](Stream& s) { s.answer(std::move(a)); });
                              }));
  }
  void OnWriteDone(bool ok) override {
    if (!ok) return Finish(grpc::Status::CANCELLED);
    StartRead(&request_);
  }
  void OnCancel() override { link_->end_request(); }
  void OnDone() override {
    link_->forget_reactor();
    delete this;
  }

 private:
  void answer(GrpcDoor::Inferred a) {
    response_.Clear();
    const grpc::Status s = read_answer(std::move(a), response_.mutable_infer_response());
    if (!s.ok()) {
      response_.Clear();
      response_.set_error_message(s.error_message());
    }
    StartWrite(&response_);
  }

  GrpcDoor& door_;
  GrpcDoor::Caller caller_;
  std::shared_ptr<Link<Stream>> link_ = std::make_shared<Link<Stream>>(this);
  inference::ModelInferRequest request_;
  inference::ModelStreamInferResponse response_;
};

class Service final : public inference::GRPCInferenceService::CallbackService {
 public:
  explicit Service(GrpcDoor& door) : door_(door) {}
  using Context = grpc::CallbackServerContext;
  using Unary = grpc::ServerUnaryReactor;

  Unary* ServerLive(Context* c, const inference::ServerLiveRequest*,
                    inference::ServerLiveResponse* out) override {
    return get(c, "/v2/health/live", [out](const GrpcDoor::Answer& a) {
      out->set_live(a.status == 200);
      return grpc::Status::OK;
    });
  }
  Unary* ServerReady(Context* c, const inference::ServerReadyRequest*,
                     inference::ServerReadyResponse* out) override {
    return get(c, "/v2/health/ready", [out](const GrpcDoor::Answer& a) {
      out->set_ready(a.status == 200);
      return grpc::Status::OK;
    });
  }
  Unary* ModelReady(Context* c, const inference::ModelReadyRequest* r,
                    inference::ModelReadyResponse* out) override {
    return get(c, model_path(r->name(), r->version(), "ready"), [out](const GrpcDoor::Answer& a) {
      out->set_ready(a.status == 200);
      return a.status == 401 ? status_of(a) : grpc::Status::OK;
    });
  }
  Unary* ServerMetadata(Context* c, const inference::ServerMetadataRequest*,
                        inference::ServerMetadataResponse* out) override {
    return get(c, "/v2", with_json([out](const json& j) {
                 out->set_name(j["name"]);
                 out->set_version(j["version"]);
                 for (const json& e : j["extensions"]) out->add_extensions(e);
               }));
  }
  Unary* ModelMetadata(Context* c, const inference::ModelMetadataRequest* r,
                       inference::ModelMetadataResponse* out) override {
    return get(c, model_path(r->name(), r->version(), ""), with_json([out](const json& j) {
                 out->set_name(j["name"]);
                 out->set_platform(j["platform"]);
                 for (const json& v : j["versions"]) out->add_versions(v);
                 const auto tensor = [](const json& t, auto* to) {
                   to->set_name(t["name"]);
                   to->set_datatype(t["datatype"]);
                   for (const json& d : t["shape"]) to->add_shape(d);
                 };
                 for (const json& t : j["inputs"]) tensor(t, out->add_inputs());
                 for (const json& t : j["outputs"]) tensor(t, out->add_outputs());
               }));
  }
  Unary* ModelConfig(Context* c, const inference::ModelConfigRequest* r,
                     inference::ModelConfigResponse* out) override {
    return get(c, model_path(r->name(), r->version(), "config"), with_json([out](const json& j) {
                 auto* config = out->mutable_config();
                 config->set_name(j["name"]);
                 config->set_platform(j["platform"]);
                 config->set_backend(j["backend"]);
                 config->set_max_batch_size(j["max_batch_size"]);
                 const auto tensor = [](const json& t, auto* to) {
                   to->set_name(t["name"]);
                   to->set_data_type(t["data_type"] == "TYPE_STRING" ? inference::TYPE_STRING
                                                                     : inference::TYPE_FP32);
                   for (const json& d : t["dims"]) to->add_dims(d);
                 };
                 for (const json& t : j["input"]) tensor(t, config->add_input());
                 for (const json& t : j["output"]) tensor(t, config->add_output());
               }));
  }
  Unary* ModelStatistics(Context* c, const inference::ModelStatisticsRequest* r,
                         inference::ModelStatisticsResponse* out) override {
    const std::string path =
        r->name().empty() ? "/v2/models/stats" : model_path(r->name(), r->version(), "stats");
    return get(c, path, with_json([out](const json& j) {
                 for (const json& m : j["model_stats"]) read_statistics(m, *out->add_model_stats());
               }));
  }
  Unary* ModelInfer(Context* c, const inference::ModelInferRequest* r,
                    inference::ModelInferResponse* out) override {
    auto* call = new Call();
    call->start_infer(door_, *r, caller_of(*c, door_), out);
    return call;
  }
  grpc::ServerBidiReactor<inference::ModelInferRequest, inference::ModelStreamInferResponse>*
  ModelStreamInfer(Context* c) override {
    return new Stream(door_, caller_of(*c, door_));
  }
  Unary* RepositoryIndex(Context* c, const inference::RepositoryIndexRequest* r,
                         inference::RepositoryIndexResponse* out) override {
    return ask(c, "POST", "/v2/repository/index", "",
               with_json([out, ready = r->ready()](const json& j) {
                 for (const json& m : j) {
                   if (ready && m["state"] != "READY") continue;
                   auto* to = out->add_models();
                   to->set_name(m["name"]);
                   to->set_version(m["version"]);
                   to->set_state(m["state"]);
                 }
               }));
  }
  Unary* RepositoryModelLoad(Context* c, const inference::RepositoryModelLoadRequest* r,
                             inference::RepositoryModelLoadResponse*) override {
    const json body{{"parameters", parameters_of(*r)}};
    return ask(c, "POST", "/v2/repository/models/" + escaped(r->model_name()) + "/load",
               body.dump(-1, ' ', false, json::error_handler_t::replace), status_of);
  }
  Unary* RepositoryModelUnload(Context* c, const inference::RepositoryModelUnloadRequest* r,
                               inference::RepositoryModelUnloadResponse*) override {
    return ask(c, "POST", "/v2/repository/models/" + escaped(r->model_name()) + "/unload", "",
               status_of);
  }

 private:
  template <class F>
  static Call::Read with_json(F f) {
    return [f](const GrpcDoor::Answer& a) {
      if (a.status != 200) return status_of(a);
      const json j = json::parse(a.body, nullptr, false);
      if (j.is_discarded())
        return grpc::Status(grpc::StatusCode::INTERNAL, "the answer is not JSON");
      f(j);
      return grpc::Status::OK;
    };
  }
  Unary* get(Context* c, std::string path, Call::Read read) {
    return ask(c, "GET", std::move(path), "", std::move(read));
  }
  Unary* ask(Context* c, std::string method, std::string path, std::string body, Call::Read read) {
    auto* call = new Call();
    call->start(door_, std::move(method), std::move(path), caller_of(*c, door_), std::move(body),
                std::move(read));
    return call;
  }

  GrpcDoor& door_;
};

class Listener final : public GrpcListener {
 public:
  Listener(const GrpcRequest& r, GrpcDoor& door) : service_(door) {
    grpc::ServerBuilder builder;
    std::shared_ptr<grpc::ServerCredentials> who = grpc::InsecureServerCredentials();
    if (!r.certificate.empty()) {
      grpc::SslServerCredentialsOptions tls;
      tls.pem_key_cert_pairs.push_back({r.key, r.certificate});
      who = grpc::SslServerCredentials(tls);
    }
    builder.AddListeningPort(r.address, who, &port_);
    builder.SetMaxReceiveMessageSize(static_cast<int>(std::min<int64_t>(r.most_bytes, INT32_MAX)));
    builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
    builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, kGrpcMostStreams);
    grpc::ResourceQuota quota("hone");
    quota.Resize(static_cast<size_t>(
        std::max(kGrpcLeastBytes, kGrpcMostMessages * std::min<int64_t>(r.most_bytes, INT32_MAX))));
    builder.SetResourceQuota(quota);
    builder.RegisterService(&service_);
    server_ = builder.BuildAndStart();
  }
  bool listens() const { return server_ != nullptr && port_ > 0; }
  int port() const override { return port_; }
  void stop(double seconds) override {
    if (server_)
      server_->Shutdown(
          gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC),
                       gpr_time_from_millis(static_cast<int64_t>(seconds * 1000), GPR_TIMESPAN)));
  }
  ~Listener() override {
    stop(0);
    if (server_) server_->Wait();
  }

 private:
  Service service_;
  int port_ = 0;
  std::unique_ptr<grpc::Server> server_;
};

}  // namespace
}  // namespace hone

extern "C" __attribute__((visibility("default"))) hone::GrpcListener* hone_grpc_start(
    int version, const hone::GrpcRequest& request, hone::GrpcDoor& door, std::string& error) {
  if (version != hone::kGrpcModuleVersion) {
    error = "it belongs to another version of hone";
    return nullptr;
  }
  auto listener = std::make_unique<hone::Listener>(request, door);
  if (listener->listens()) return listener.release();
  error = "it cannot listen at " + request.address + ", or the files for TLS cannot be used";
  return nullptr;
}
