// Scores of texts for a query, in the form of Jina's and Cohere's API, as vLLM serves it:
//   https://docs.cohere.com/v1/reference/rerank
// and in that of text-embeddings-inference:
//   https://huggingface.github.io/text-embeddings-inference
#include <algorithm>
#include <numeric>

#include "operate/serve/error_shape.h"
#include "operate/serve/openai/model_asked.h"
#include "operate/serve/protocol/json_body.h"

namespace hone {
namespace {

struct RerankAsked {
  ModelSet::Model model;
  std::string name;
  std::string query;
  std::vector<std::string> texts;
  int64_t most = 0;  // results
  bool with_texts = false;
  bool raw = false;  // logits in place of scores
};

// A document: a text, or an object with one.
Result<std::string> document_text(const Json& document, const char* key) {
  if (document.is_string()) return document.get<std::string>();
  const Json& text = value_at(document, "text");
  if (document.is_object() && text.is_string()) return text.get<std::string>();
  return bad_key(key, "a document is neither a text nor an object with a \"text\"");
}

Result<bool> flag_member(const Json& body, const char* key) {
  const Json& value = value_at(body, key);
  if (value.is_null()) return false;
  if (!value.is_boolean()) return bad_key(key, "the value is not true or false");
  return value.get<bool>();
}

// The model that the body names; if it names none, the only one that scores pairs.
Result<ModelSet::Model> reranker(ServeContext& server, const Json& body) {
  if (text_at(body, "model").empty()) {
    if (server.models.loading()) return still_loading();
    std::vector<ModelSet::Model> fit;
    for (const std::string& name : server.models.names())
      if (const auto m = server.models.look_up(name); m.ok() && (*m)->scores_pairs())
        fit.push_back(HONE_TRY(server.models.find(name, "")));
    if (fit.size() == 1) return fit[0];
  }
  const ModelSet::Model model = HONE_TRY(named_model(server, body));
  if (model->scores_pairs()) return model;
  return bad_key("model", fmt::format("'{}' gives a pair of texts no single score", model->name()))
      .todo("name a cross-encoder with one label");
}

Result<RerankAsked> read_rerank(RouteCall& call, const Json& body, const char* texts_key) {
  RerankAsked a;
  a.model = HONE_TRY(reranker(call.server, body));
  a.name = a.model->name();
  if (const Json& query = value_at(body, "query"); query.is_string())
    a.query = query.get<std::string>();
  else
    return bad_key("query", "the body has no text \"query\"");
  const Json& documents = value_at(body, texts_key);
  if (!documents.is_array() || documents.empty())
    return bad_key(texts_key, fmt::format("the body has no list \"{}\"", texts_key));
  HONE_TRY(check_text_count(documents.size()));
  for (const Json& d : documents) a.texts.push_back(HONE_TRY(document_text(d, texts_key)));
  a.most = std::ssize(a.texts);
  if (const Json& top = value_at(body, "top_n"); !top.is_null()) {
    if (!top.is_number_integer() || top.get<int64_t>() < 1)
      return bad_key("top_n", "top_n is not a positive whole number");
    a.most = std::min(a.most, top.get<int64_t>());
  }
  return a;
}

// The texts' scores, best first; equal ones in their order.
struct RankedText {
  size_t index;
  double score;
};
std::vector<RankedText> ranked(const RerankAsked& a, const std::vector<TextAnswer>& answers) {
  std::vector<RankedText> all;
  for (size_t i = 0; i < answers.size(); ++i) {
    const double logit = answers[i].labels[0][0].score;
    all.push_back({i, a.raw ? logit : a.model->pair_score(logit)});
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const RankedText& x, const RankedText& y) { return x.score > y.score; });
  all.resize(static_cast<size_t>(a.most));
  return all;
}

WebAnswer rerank_error(const std::string& path, const Error& e) {
  return shaped_error(error_shape_of(path), e);
}

void ask_scores(RouteCall& call, const std::shared_ptr<const RerankAsked>& a,
                std::function<OrderedJson(const std::vector<TextAnswer>&)> answer) {
  std::vector<TextQuery> queries;
  for (const std::string& text : a->texts)
    queries.push_back({.text = a->query, .pair = text, .deadline = call.server.deadline()});
  ask_all(*call.reply, a->model, std::move(queries),
          [reply = call.reply, path = call.request.path,
           answer = std::move(answer)](Result<std::vector<TextAnswer>> all) {
            if (!all.ok()) return reply->send(rerank_error(path, all.error()));
            reply->send({200, dump_json(answer(*all)) + "\n"});
          });
}

Status rerank_documents(RouteCall& call) {
  const Json body = HONE_TRY(json_object(call.request.body));
  HONE_TRY(check_keys(body, {"model", "query", "documents", "top_n", "return_documents"}));
  RerankAsked read = HONE_TRY(read_rerank(call, body, "documents"));
  read.with_texts = HONE_TRY(flag_member(body, "return_documents"));
  const auto a = std::make_shared<const RerankAsked>(std::move(read));
  const std::string id = new_openai_id("rerank-", call.server.clock->wall_seconds());
  ask_scores(call, a, [a, id](const std::vector<TextAnswer>& answers) {
    OrderedJson results = OrderedJson::array();
    for (const RankedText& r : ranked(*a, answers)) {
      OrderedJson one{{"index", r.index}};
      if (a->with_texts) one["document"] = {{"text", a->texts[r.index]}};
      one["relevance_score"] = r.score;
      results.push_back(std::move(one));
    }
    int64_t tokens = 0;
    for (const TextAnswer& t : answers) tokens += t.prompt_tokens;
    return OrderedJson{{"id", id},
                       {"model", a->name},
                       {"usage", {{"total_tokens", tokens}}},
                       {"results", results}};
  });
  return Ok{};
}

Status rerank_texts(RouteCall& call) {
  const Json body = HONE_TRY(json_object(call.request.body));
  HONE_TRY(check_keys(body, {"model", "query", "texts", "raw_scores", "return_text", "truncate"}));
  RerankAsked read = HONE_TRY(read_rerank(call, body, "texts"));
  read.with_texts = HONE_TRY(flag_member(body, "return_text"));
  read.raw = HONE_TRY(flag_member(body, "raw_scores"));
  HONE_TRY(flag_member(body, "truncate"));  // long pairs are always cut
  const auto a = std::make_shared<const RerankAsked>(std::move(read));
  ask_scores(call, a, [a](const std::vector<TextAnswer>& answers) {
    OrderedJson results = OrderedJson::array();
    for (const RankedText& r : ranked(*a, answers)) {
      OrderedJson one{{"index", r.index}, {"score", r.score}};
      if (a->with_texts) one["text"] = a->texts[r.index];
      results.push_back(std::move(one));
    }
    return results;
  });
  return Ok{};
}

template <Status (*answer)(RouteCall&)>
void answer_rerank(RouteCall& call) {
  if (const Status s = answer(call); !s.ok())
    call.reply->send(rerank_error(call.request.path, s.error()));
}

std::vector<Route> rerank_routes(const ServeContext&) {
  return {{"POST", "v1/rerank", answer_rerank<rerank_documents>},
          {"POST", "rerank", answer_rerank<rerank_texts>}};
}

}  // namespace

Api serve_api_rerank() { return {"rerank", rerank_routes}; }

}  // namespace hone
