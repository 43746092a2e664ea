#include "operate/serve/request_record.h"

#include "operate/serve/request_id.h"

namespace hone {

RequestRecord::RequestRecord(ServeContext& server, LiveMetric& open, const WebRequest& r)
    : server_(server),
      open_(open),
      begun_(server.clock->seconds()),
      has_body_(r.method != "HEAD"),
      status_(kClientLeft) {
  open_.add(1);
  access_.id = request_id_of(r.headers);
  if (!server.access) return;
  access_.begun = server.clock->wall_seconds();
  access_.peer = r.client;
  access_.protocol = r.protocol;
  access_.method = r.method;
  access_.path = r.path;
  access_.referer = r.header("referer");
  access_.agent = r.header("user-agent");
  access_.bytes_in = static_cast<int64_t>(r.body.size());
}

void RequestRecord::tell(const WorkFacts& facts) {
  std::lock_guard lock(mutex_);
  work_ = facts;
}

void RequestRecord::wrote_piece(size_t bytes) {
  if (!streams_.exchange(true)) first_seconds_ = server_.clock->seconds() - begun_;
  wrote(bytes);
}

void RequestRecord::answer(WebAnswer& a) {
  name_request(access_.id, a);
  status(a.status);
  if (has_body_) wrote(a.body.size());
}

void RequestRecord::finish() {
  if (finished_.exchange(true)) return;
  open_.add(-1);
  const double seconds = server_.clock->seconds() - begun_;
  server_.metrics
      .histogram("hone_serve_request_duration_seconds",
                 "Time from a request to the end of its answer.", latency_bounds(),
                 {{"route", route_}})
      .observe(seconds);
  server_.metrics
      .counter("hone_serve_requests_total", "Requests that were answered.",
               {{"route", route_}, {"code", std::to_string(status_.load())}})
      .add(1);
  if (!server_.access) return;
  AccessRecord line = access_;
  line.status = status_;
  line.bytes_out = bytes_out_;
  line.seconds = seconds;
  line.first_seconds = first_seconds_;
  {
    std::lock_guard lock(mutex_);
    line.work = work_;
  }
  server_.access->add(line);
}

RecordedReply::~RecordedReply() {
  if (gone()) record_->status(kClientLeft);
  if (answered_ || gone()) return;
  try {
    refuse({500, "the request was dropped"});
  } catch (const std::exception&) {
  }  // without memory for it, the inner reply says the same
}

void RecordedReply::add_headers(WebAnswer& a) {
  a.headers.insert(a.headers.end(), headers_.begin(), headers_.end());
}

void RecordedReply::send(WebAnswer a) {
  answered_ = true;
  add_headers(a);
  record_->answer(a);
  if (gone()) record_->status(kClientLeft);
  record_->finish();
  inner_->send(std::move(a));
}

void RecordedReply::begin(WebAnswer head) {
  answered_ = true;
  add_headers(head);
  record_->answer(head);
  inner_->begin(std::move(head));
}

void RecordedReply::write(std::string piece) {
  record_->wrote_piece(piece.size());
  inner_->write(std::move(piece));
}

void RecordedReply::end() {
  if (gone()) record_->status(kClientLeft);
  record_->finish();
  inner_->end();
}

}  // namespace hone
