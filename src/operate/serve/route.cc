#include "operate/serve/route.h"

#include <mutex>

#include "base/core/text.h"
#include "learn/generate/errors.h"
#include "operate/serve/errors.h"

namespace hone {
namespace {

// The tickets of a request. A client that leaves cancels them.
class Tickets {
 public:
  explicit Tickets(ModelSet::Model model) : model_(std::move(model)) {}
  void add(uint64_t ticket) {
    bool now = false;
    {
      std::lock_guard lock(mutex_);
      now = ended_;
      if (!now) tickets_.push_back(ticket);
    }
    if (now) model_->cancel(ticket);
  }
  void end() {
    std::vector<uint64_t> all;
    {
      std::lock_guard lock(mutex_);
      ended_ = true;
      all.swap(tickets_);
    }
    for (const uint64_t t : all) model_->cancel(t);
  }

 private:
  ModelSet::Model model_;
  std::mutex mutex_;
  std::vector<uint64_t> tickets_;
  bool ended_ = false;
};

struct Gathered {
  std::mutex mutex;
  std::vector<TextAnswer> answers;
  size_t left = 0;
  bool over = false;
  std::function<void(Result<std::vector<TextAnswer>>)> done;
};

// A request to a model: its client and the model's statistics know of it.
class Inquiry {
 public:
  Inquiry(WebClient& client, const ModelSet::Model& model)
      : client_(client), model_(*model), begun_(model->clock().seconds()) {
    client_.tell({model_.name(), model_.version()});
  }
  void answered(std::span<const TextAnswer> answers) {
    WorkFacts facts{model_.name(), model_.version(), 0, 0};
    for (const TextAnswer& a : answers) {
      facts.tokens_in += a.prompt_tokens;
      facts.tokens_out += a.new_tokens;
    }
    client_.tell(facts);
    model_.statistics().ended(ModelStatistics::success, seconds(), std::ssize(answers),
                              model_.clock().wall_seconds());
  }
  void failed() {
    model_.statistics().ended(ModelStatistics::fail, seconds(), 0, model_.clock().wall_seconds());
  }

 private:
  double seconds() const { return model_.clock().seconds() - begun_; }
  WebClient& client_;
  ServedModel& model_;
  const double begun_;
};

}  // namespace

Deadline ServeContext::deadline() const {
  return request_seconds > 0 ? clock->seconds() + request_seconds : kNoDeadline;
}

std::string RouteCall::part(const std::string& name) const {
  const auto it = names.find(name);
  return it == names.end() ? "" : it->second;
}

int status_of(const Error& e) {
  if (e.is(err::kServeBusy)) return 429;
  if (e.is(err::kServeLate)) return 504;
  if (e.is(err::kServeEnds) || e.is(err::kServeLoading) || e.is(err::kServeNoMemory)) return 503;
  if (e.is(err::kServeNoModel)) return 404;
  if (e.is(err::kLogitsNotFinite)) return 500;
  return 400;
}

WebHeaders headers_of(const Error& e) {
  const int status = status_of(e);
  if (status == 429 || status == 503) return {{"Retry-After", "1"}};
  return {};
}

namespace {

bool is_for_clients(std::string_view text) {
  return text.find("--") == text.npos && !text.starts_with('/');
}

// The remedy up to its first alternative that names a flag.
std::string remedy_for_clients(const std::string& remedy) {
  const size_t flag = remedy.find("--");
  if (flag == remedy.npos) return remedy;
  size_t end = 0;
  for (const std::string_view before : {", or ", "; ", ": "})
    if (const size_t at = remedy.rfind(before, flag); at != remedy.npos) end = std::max(end, at);
  return remedy.substr(0, end);
}

}  // namespace

Error with_names_of(const Error& e, const Json& given, std::span<const KeyName> names) {
  std::string what = e.what();
  for (const auto& [theirs, ours] : names) {
    if (!given.is_object() || !given.contains(theirs) || given.contains(ours)) continue;
    const std::string_view old = ours, now = theirs;
    for (size_t at = 0; (at = what.find(old, at)) != what.npos; at += now.size())
      what.replace(at, old.size(), now);
  }
  Error named = Error(e.error_code(), what).todo(e.remedy());
  for (const std::string& place : e.where()) named.at(place);
  return named;
}

std::string line_of(const Error& e) {
  std::string line = e.what();
  std::vector<std::string> places = e.where();
  std::erase_if(places, [](const std::string& place) { return !is_for_clients(place); });
  if (!places.empty()) line += " (" + join(places, ", ") + ")";
  if (const std::string remedy = remedy_for_clients(e.remedy()); !remedy.empty())
    line += "; " + remedy;
  return line;
}

void ask_all(WebClient& client, const ModelSet::Model& model, std::vector<TextQuery> queries,
             std::function<void(Result<std::vector<TextAnswer>>)> done) {
  const auto all = std::make_shared<Gathered>();
  all->answers.resize(queries.size());
  all->left = queries.size();
  all->done = std::move(done);
  if (queries.empty()) return all->done(std::vector<TextAnswer>());
  const auto tickets = std::make_shared<Tickets>(model);
  client.on_gone([tickets] { tickets->end(); });
  const auto inquiry = std::make_shared<Inquiry>(client, model);
  const auto fail = [all, tickets, inquiry](Error e) {
    {
      std::lock_guard lock(all->mutex);
      if (all->over) return;
      all->over = true;
    }
    tickets->end();
    inquiry->failed();
    all->done(std::move(e));
  };
  for (size_t i = 0; i < queries.size(); ++i) {
    queries[i].follows = i > 0;
    Result<uint64_t> ticket =
        model->ask(std::move(queries[i]), nullptr, [all, i, fail, inquiry](Result<TextAnswer> one) {
          if (!one.ok()) return fail(std::move(one.error()));
          {
            std::lock_guard lock(all->mutex);
            all->answers[i] = std::move(*one);
            if (--all->left > 0 || all->over) return;
            all->over = true;
          }
          inquiry->answered(all->answers);
          all->done(std::move(all->answers));
        });
    if (!ticket.ok()) return fail(std::move(ticket.error()));
    tickets->add(*ticket);
  }
}

void ask_pieces(WebClient& client, const ModelSet::Model& model, TextQuery query,
                ServedModel::OnPiece on_piece, ServedModel::OnDone done) {
  const auto tickets = std::make_shared<Tickets>(model);
  client.on_gone([tickets] { tickets->end(); });
  const auto inquiry = std::make_shared<Inquiry>(client, model);
  const auto end = std::make_shared<ServedModel::OnDone>(
      [inquiry, done = std::move(done)](Result<TextAnswer> a) {
        if (a.ok())
          inquiry->answered(std::span(&*a, 1));
        else
          inquiry->failed();
        done(std::move(a));
      });
  Result<uint64_t> ticket = model->ask(std::move(query), std::move(on_piece),
                                       [end](Result<TextAnswer> a) { (*end)(std::move(a)); });
  if (!ticket.ok()) return (*end)(std::move(ticket.error()));
  tickets->add(*ticket);
}

}  // namespace hone
