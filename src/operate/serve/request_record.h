// Records one request, from the arrival of its headers to the end of its answer, in the metrics and as a line of the
// access log. Also chooses the request's id.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>

#include "operate/serve/error_shape.h"
#include "operate/serve/route.h"

namespace hone {

// The status that is recorded for a request whose client left before its answer, as in nginx.
inline constexpr int kClientLeft = 499;

// Any thread may use the object after of() was called. `open` is the gauge of open requests: the constructor adds 1 to
// it, and finish() subtracts 1.
class RequestRecord {
 public:
  RequestRecord(ServeContext& server, LiveMetric& open, const WebRequest& request);
  ~RequestRecord() { finish(); }
  RequestRecord(const RequestRecord&) = delete;
  RequestRecord& operator=(const RequestRecord&) = delete;

  const std::string& id() const { return access_.id; }
  // Sets the label `route` of the metrics. If of() is not called, the label is "none".
  void of(const std::string& route) { route_ = route; }
  // Replaces the facts for the access log.
  void tell(const WorkFacts& facts);
  // Sets the status of the answer. If no status is set, it is kClientLeft.
  void status(int status) { status_ = status; }
  void read(int64_t bytes) { access_.bytes_in = bytes; }  // sets the size of the request's body
  // Adds bytes of the answer's body.
  void wrote(size_t bytes) { bytes_out_ += static_cast<int64_t>(bytes); }
  // Adds bytes of one piece of a streamed answer; the first call sets the time of the first piece.
  void wrote_piece(size_t bytes);
  // Adds the request's id to an answer, and records the answer's status and the size of its body.
  void answer(WebAnswer& a);
  // Writes the record to the metrics and the access log. Later calls do nothing. The destructor calls finish() too.
  void finish();

 private:
  ServeContext& server_;
  LiveMetric& open_;
  const double begun_;
  AccessRecord access_;
  bool has_body_;  // in the answer
  std::string route_ = "none";
  std::atomic<int> status_;
  std::atomic<int64_t> bytes_out_ = 0;
  std::atomic<bool> finished_ = false, streams_ = false;
  std::atomic<double> first_seconds_ = -1;
  std::mutex mutex_;
  WorkFacts work_;
};

// Adds `headers` to an answer, forwards it to the reply `inner`, and records it. If the object is destroyed before an
// answer was sent, it sends status 500 in the form `shape`.
class RecordedReply : public WebReply {
 public:
  RecordedReply(std::shared_ptr<WebReply> inner, WebHeaders headers, ErrorShape shape,
                std::unique_ptr<RequestRecord> record)
      : inner_(std::move(inner)),
        headers_(std::move(headers)),
        shape_(shape),
        record_(std::move(record)) {}
  ~RecordedReply() override;
  RequestRecord& record() { return *record_; }
  void refuse(const WebFault& fault) { send(shaped_error(shape_, fault)); }

  void send(WebAnswer a) override;
  void begin(WebAnswer head) override;
  void write(std::string piece) override;
  void end() override;
  void tell(const WorkFacts& facts) override { record_->tell(facts); }
  bool gone() const override { return inner_->gone(); }
  void on_gone(std::function<void()> f) override { inner_->on_gone(std::move(f)); }

 private:
  void add_headers(WebAnswer& a);

  std::shared_ptr<WebReply> inner_;
  WebHeaders headers_;
  ErrorShape shape_;
  std::unique_ptr<RequestRecord> record_;
  std::atomic<bool> answered_ = false;
};

// Forwards to the client `inner`, and owns the record of its request. For answers that are not sent through a WebReply.
class RecordedClient : public WebClient {
 public:
  RecordedClient(std::shared_ptr<WebClient> inner, std::unique_ptr<RequestRecord> record)
      : inner_(std::move(inner)), record_(std::move(record)) {}
  RequestRecord& record() { return *record_; }
  void tell(const WorkFacts& facts) override { record_->tell(facts); }
  bool gone() const override { return inner_->gone(); }
  void on_gone(std::function<void()> f) override { inner_->on_gone(std::move(f)); }

 private:
  std::shared_ptr<WebClient> inner_;
  std::unique_ptr<RequestRecord> record_;
};

}  // namespace hone
