// One request from its head to the end of its answer: counted in the metrics, a line of the access log, with an id.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>

#include "operate/serve/error_shape.h"
#include "operate/serve/route.h"

namespace hone {

inline constexpr int kClientLeft =
    499;  // the status of a request whose client left, as nginx counts it

// Any thread uses it, after of() has named the route.
class RequestRecord {
 public:
  RequestRecord(ServeContext& server, LiveMetric& open, const WebRequest& request);
  ~RequestRecord() { finish(); }
  RequestRecord(const RequestRecord&) = delete;
  RequestRecord& operator=(const RequestRecord&) = delete;

  const std::string& id() const { return access_.id; }
  void of(const std::string& route) { route_ = route; }
  void tell(const WorkFacts& facts);
  // The status of an answer, and bytes of its body. Status 499 until there is one.
  void status(int status) { status_ = status; }
  void read(int64_t bytes) { access_.bytes_in = bytes; }
  void wrote(size_t bytes) { bytes_out_ += static_cast<int64_t>(bytes); }
  void wrote_piece(size_t bytes);
  // Gives a whole answer its id, and takes its status and bytes.
  void answer(WebAnswer& a);
  // Counts it, once.
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

// A reply that is recorded. Its answers get `headers`. One that is destroyed without an answer sends status 500.
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

// A client whose request is recorded, for an answer that is not sent by a WebReply.
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
