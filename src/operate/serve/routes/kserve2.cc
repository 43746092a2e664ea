// The Open Inference Protocol over HTTP (KServe v2), with Triton's extensions: binary tensors, generate,
// config, the repository of models.
//   https://github.com/triton-inference-server/server/tree/main/docs/protocol
#include "operate/serve/error_shape.h"
#include "operate/serve/errors.h"
#include "operate/serve/protocol/errors.h"
#include "operate/serve/protocol/json_body.h"
#include "operate/serve/route.h"
#include "operate/serve/tensors.h"

namespace hone {
namespace {

void refuse_v2(const std::shared_ptr<WebReply>& reply, const Error& e) {
  reply->send(shaped_error(ErrorShape::plain, e));
}
void send_json(const std::shared_ptr<WebReply>& reply, const OrderedJson& json) {
  reply->send({200, dump_json(json) + "\n"});
}

Error bad_v2(const std::string& what) { return Error(err::kServeRequest, what); }

WebAnswer infer_answer(const TensorBody& asked, const TensorAnswer& answer) {
  OrderedJson out{{"model_name", answer.model}, {"model_version", answer.version}};
  if (!answer.id.empty()) out["id"] = answer.id;
  out["outputs"] = OrderedJson::array();
  std::string tail;
  for (const InferTensor& t : answer.outputs) {
    OrderedJson o{{"name", t.name}, {"datatype", t.datatype}, {"shape", t.shape}};
    const auto own = asked.binary.find(t.name);
    if (own != asked.binary.end() ? own->second : asked.all_binary) {
      const std::string bytes = bytes_of(t);
      o["parameters"] = {{"binary_data_size", bytes.size()}};
      tail += bytes;
    } else if (t.datatype == "BYTES") {
      o["data"] = t.texts;
    } else {
      o["data"] = t.floats;
    }
    out["outputs"].push_back(std::move(o));
  }
  const std::string head = dump_json(out);
  if (tail.empty()) return {200, head};
  return {200,
          head + tail,
          "application/octet-stream",
          {{"Inference-Header-Content-Length", std::to_string(head.size())}}};
}

Result<ModelSet::Model> asked_model(const RouteCall& call) {
  return call.server.models.find(call.part("model"), call.part("version"));
}

Status infer_tensors(RouteCall& call) {
  const ModelSet::Model model = HONE_TRY(asked_model(call));
  TensorBody read = HONE_TRY(
      read_tensor_body(call.request.body, call.request.header("inference-header-content-length")));
  const auto body = std::make_shared<const TensorBody>(std::move(read));
  infer(model, body->request, call.server.deadline(), *call.reply,
        [reply = call.reply, body](const Result<TensorAnswer>& answer) {
          if (!answer.ok()) return refuse_v2(reply, answer.error());
          reply->send(infer_answer(*body, *answer));
        });
  return Ok{};
}

struct Generation {
  std::string id;
  TextQuery query;
};

// "stream", which Triton's clients send with either route, says what the route does.
Result<Generation> read_generation(const std::string& text, bool stream) {
  const Json body = HONE_TRY(json_object(text));
  HONE_TRY(check_keys(body, {"id", "text_input", "parameters", "stream"}));
  Generation g;
  const auto input = body.find("text_input");
  if (input == body.end() || !input->is_string())
    return bad_v2("the body has no text \"text_input\"");
  g.query.text = input->get<std::string>();
  g.id = HONE_TRY(text_member(body, "id"));
  Json settings = HONE_TRY(parameters_of(body));
  for (const Json* from : {&body, static_cast<const Json*>(&settings)}) {
    const auto said = from->find("stream");
    if (said == from->end() || said->is_null() || *said == Json(stream)) continue;
    return bad_v2(fmt::format("stream is not {}", stream))
        .todo(stream ? "ask generate for a whole answer" : "ask generate_stream for a stream");
  }
  settings.erase("stream");
  g.query.settings = std::make_shared<const Json>(std::move(settings));
  return g;
}

// {"text_input": "...", "parameters": {...}} -> {"text_output": "..."}
Status generate(RouteCall& call, bool stream) {
  const ModelSet::Model model = HONE_TRY(asked_model(call));
  Generation g = HONE_TRY(read_generation(call.request.body, stream));
  TextQuery& q = g.query;
  q.deadline = call.server.deadline();
  const auto answer_of = [model, id = g.id](const std::string& text) {
    OrderedJson out;
    if (!id.empty()) out["id"] = id;
    out["model_name"] = model->name();
    out["model_version"] = model->version();
    out["text_output"] = text;
    return out;
  };
  if (!stream) {
    std::vector<TextQuery> one;
    one.push_back(std::move(q));
    ask_all(*call.reply, model, std::move(one),
            [reply = call.reply, answer_of](Result<std::vector<TextAnswer>> all) {
              if (!all.ok()) return refuse_v2(reply, all.error());
              if ((*all)[0].texts.empty())
                return refuse_v2(reply, bad_v2("the model writes no text"));
              send_json(reply, answer_of((*all)[0].texts[0].text));
            });
    return Ok{};
  }
  // Status and headers wait for the first piece, so a refusal can still have its own status.
  const auto begun = std::make_shared<bool>(false);
  const auto begin = [reply = call.reply, begun] {
    if (!std::exchange(*begun, true)) reply->begin({200, "", "text/event-stream"});
  };
  ask_pieces(
      *call.reply, model, std::move(q),
      [reply = call.reply, begin, answer_of](size_t, const std::string& text) {
        begin();
        reply->write("data: " + dump_json(answer_of(text)) + "\n\n");
      },
      [reply = call.reply, begin, begun, answer_of](Result<TextAnswer> a) {
        if (!a.ok() && !*begun) return refuse_v2(reply, a.error());
        begin();
        if (!a.ok())
          reply->write("data: " + dump_json(Json{{"error", line_of(a.error())}}) + "\n\n");
        reply->end();
      });
  return Ok{};
}
Status generate_whole(RouteCall& call) { return generate(call, false); }
Status generate_stream(RouteCall& call) { return generate(call, true); }

OrderedJson metadata_of(const ModelSet& models, const ServedModel& model) {
  OrderedJson versions = OrderedJson::array(), outputs = OrderedJson::array();
  for (const auto& m : models.all())
    if (m->name() == model.name()) versions.push_back(m->version());
  for (const TensorForm& t : outputs_of(model))
    outputs.push_back(
        {{"name", t.name},
         {"datatype", t.datatype},
         {"shape", t.width > 1 ? OrderedJson::array({-1, t.width}) : OrderedJson::array({-1})}});
  return {{"name", model.name()},
          {"versions", versions},
          {"platform", "hone"},
          {"inputs", {{{"name", input_name_of(model)}, {"datatype", "BYTES"}, {"shape", {-1}}}}},
          {"outputs", outputs}};
}

Result<ModelSet::Model> known_model(const RouteCall& call) {
  return call.server.models.look_up(call.part("model"), call.part("version"));
}

Status describe_server(RouteCall& call) {
  send_json(call.reply,
            {{"name", "hone"},
             {"version", call.server.version},
             {"extensions",
              {"binary_tensor_data", "generate", "model_configuration", "model_repository",
               "model_repository(unload_dependents)", "statistics"}}});
  return Ok{};
}

Status describe_model(RouteCall& call) {
  const ModelSet::Model model = HONE_TRY(known_model(call));
  send_json(call.reply, metadata_of(call.server.models, *model));
  return Ok{};
}

Status describe_config(RouteCall& call) {
  const ModelSet::Model model = HONE_TRY(known_model(call));
  send_json(call.reply, triton_config(*model));
  return Ok{};
}

Status describe_statistics(RouteCall& call) {
  std::vector<ModelSet::Model> models = call.server.models.all();
  if (const std::string name = call.part("model"); !name.empty()) {
    const ModelSet::Model model = HONE_TRY(known_model(call));
    std::erase_if(models, [&](const ModelSet::Model& m) {
      return m->name() != name || (!call.part("version").empty() && m != model);
    });
  }
  OrderedJson all = OrderedJson::array();
  for (const ModelSet::Model& m : models) all.push_back(triton_statistics(*m));
  send_json(call.reply, {{"model_stats", all}});
  return Ok{};
}

Status answer_model_ready(RouteCall& call) {
  HONE_TRY(known_model(call));
  if (!call.server.ready) return call.server.models.loading() ? still_loading() : server_ends();
  call.reply->send({200, ""});
  return Ok{};
}

// {"ready": true} leaves out models that are not loaded.
Result<bool> asks_for_ready_models(const std::string& text) {
  if (text.empty()) return false;
  const Json body = HONE_TRY(json_object(text));
  HONE_TRY(check_keys(body, {"ready"}));
  const auto ready = body.find("ready");
  if (ready == body.end()) return false;
  if (!ready->is_boolean()) return bad_v2("ready is not true or false");
  return ready->get<bool>();
}

Status list_repository(RouteCall& call) {
  const bool ready_alone = HONE_TRY(asks_for_ready_models(call.request.body));
  OrderedJson all = OrderedJson::array();
  std::vector<std::string> names;
  for (const auto& m : call.server.models.all()) {
    all.push_back({{"name", m->name()}, {"version", m->version()}, {"state", "READY"}});
    names.push_back(m->name());
  }
  if (call.server.repository && !ready_alone)
    for (const std::string& name : call.server.repository())
      if (std::find(names.begin(), names.end(), name) == names.end())
        all.push_back({{"name", name}, {"version", ""}, {"state", "UNAVAILABLE"}});
  send_json(call.reply, all);
  return Ok{};
}

// {"parameters": {"hone_version": "3", "hone_traffic": 10}} names a version and its share; without, the newest
// gets all requests, or is loaded again with the shares as they are.
Result<LoadRequest> load_request(const RouteCall& call) {
  LoadRequest r{call.part("model")};
  if (call.request.body.empty()) return r;
  const Json body = HONE_TRY(json_object(call.request.body));
  HONE_TRY(check_keys(body, {"parameters"}));
  const Json parameters = HONE_TRY(parameters_of(body));
  HONE_TRY(
      check_keys(parameters, {"hone_version", "hone_traffic", "hone_deployed_id"}, "parameters"));
  r.version = HONE_TRY(text_member(parameters, "hone_version"));
  r.deployed_id = HONE_TRY(text_member(parameters, "hone_deployed_id"));
  HONE_TRY(check_model_name(r.name, r.version));
  if (const auto t = parameters.find("hone_traffic"); t != parameters.end()) {
    if (!t->is_number_integer() || t->get<int64_t>() < 1 || t->get<int64_t>() > 100)
      return bad_v2("hone_traffic is not in 1 to 100");
    r.traffic = t->get<int64_t>();
  }
  return r;
}

Error no_repository() {
  return Error(err::kServeNoModel, "this server has no model repository")
      .todo("start it with --model_repository DIR");
}

void answer_change(const std::shared_ptr<WebReply>& reply, const Status& s) {
  if (!s.ok()) return refuse_v2(reply, s.error());
  reply->send({200, "{}"});
}

Status load_model(RouteCall& call) {
  if (!call.server.load) return no_repository();
  const LoadRequest wanted = HONE_TRY(load_request(call));
  return call.server.loads.add([&server = call.server, wanted] { return server.load(wanted); },
                               [reply = call.reply](const Status& s) { answer_change(reply, s); });
}

// A model has no dependents: both values of unload_dependents unload it alone.
Status check_unload(const std::string& text) {
  if (text.empty()) return Ok{};
  const Json body = HONE_TRY(json_object(text));
  HONE_TRY(check_keys(body, {"parameters"}));
  const Json parameters = HONE_TRY(parameters_of(body));
  HONE_TRY(check_keys(parameters, {"unload_dependents"}, "parameters"));
  if (!parameters.empty() && !parameters["unload_dependents"].is_boolean())
    return bad_v2("unload_dependents is not true or false");
  return Ok{};
}

Status unload_model(RouteCall& call) {
  if (!call.server.unload) return no_repository();
  HONE_TRY(check_unload(call.request.body));
  answer_change(call.reply, call.server.unload(call.part("model")));
  return Ok{};
}

template <Status (*F)(RouteCall&)>
void answer_v2(RouteCall& call) {
  if (const Status s = F(call); !s.ok()) refuse_v2(call.reply, s.error());
}

std::vector<Route> kserve2_routes(const ServeContext&) {
  const std::string model = "v2/models/{model}[/versions/{version}]";
  return {{"GET", "v2", answer_v2<describe_server>},
          {"*", "v2/repository/index", answer_v2<list_repository>},
          {"POST", "v2/repository/models/{model}/load", answer_v2<load_model>},
          {"POST", "v2/repository/models/{model}/unload", answer_v2<unload_model>},
          {"GET", "v2/models/stats", answer_v2<describe_statistics>},
          {"GET", model, answer_v2<describe_model>},
          {"GET", model + "/stats", answer_v2<describe_statistics>},
          {"GET", model + "/ready", answer_v2<answer_model_ready>},
          {"GET", model + "/config", answer_v2<describe_config>},
          {"POST", model + "/infer", answer_v2<infer_tensors>},
          {"POST", model + "/generate", answer_v2<generate_whole>},
          {"POST", model + "/generate_stream", answer_v2<generate_stream>}};
}

}  // namespace

Api serve_api_kserve2() { return {kTensorApi, kserve2_routes}; }

}  // namespace hone
