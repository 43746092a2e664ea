// HTTP/2, by nghttp2.
#include <nghttp2/nghttp2.h>

#include <boost/asio/steady_timer.hpp>
#include <cstring>
#include <deque>
#include <map>

#include "base/core/clock.h"
#include "base/core/error.h"
#include "operate/http/departure.h"
#include "operate/http/wire.h"

namespace hone {
namespace {

constexpr uint32_t kMostStreams = 128;
// Streams that a client may reset before their answer, beyond the number that it lets finish.
constexpr int64_t kMostResets = 500;
constexpr size_t kMostFrameBytes = 64 << 10;  // gathered for one write
constexpr double kLingerSeconds = 2;          // for a client to read the last answers

class Http2 : public HttpConnection, public std::enable_shared_from_this<Http2> {
 public:
  Http2(std::shared_ptr<Wire> wire, HttpShared& shared)
      : wire_(std::move(wire)), shared_(shared), timer_(wire_->get_executor()) {
    beast::error_code failed;
    const auto peer = wire_->tcp().socket().remote_endpoint(failed);
    if (!failed) client_ = peer.address().to_string();
    nghttp2_session_callbacks* calls = nullptr;
    HONE_BUG_IF(nghttp2_session_callbacks_new(&calls) != 0, "no memory for HTTP/2");
    nghttp2_session_callbacks_set_on_begin_headers_callback(calls, guarded<on_begin>);
    nghttp2_session_callbacks_set_on_header_callback(calls, guarded<on_header>);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(calls, guarded<on_data>);
    nghttp2_session_callbacks_set_on_frame_recv_callback(calls, guarded<on_frame>);
    nghttp2_session_callbacks_set_on_frame_send_callback(calls, guarded<on_sent>);
    nghttp2_session_callbacks_set_on_stream_close_callback(calls, guarded<on_close>);
    nghttp2_session_server_new(&session_, calls, this);
    nghttp2_session_callbacks_del(calls);
  }
  ~Http2() override {
    nghttp2_session_del(session_);
    --shared_.connections;
  }

  void start(const beast::flat_buffer& begun) {
    wire_->tcp().expires_never();
    const nghttp2_settings_entry settings[] = {
        {NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, kMostStreams},
        {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE,
         static_cast<uint32_t>(shared_.options.most_header_bytes)}};
    nghttp2_submit_settings(session_, NGHTTP2_FLAG_NONE, settings, std::size(settings));
    tick();
    if (take(static_cast<const uint8_t*>(begun.data().data()), begun.size())) read();
  }

  // Answers open streams first. Then nghttp2 has nothing left to do, and pump() ends the
  // connection.
  void finish() override {
    if (streams_.empty()) {
      nghttp2_session_terminate_session(session_, NGHTTP2_NO_ERROR);
    } else if (!finishing_) {
      last_id_ = nghttp2_session_get_last_proc_stream_id(session_);
      nghttp2_submit_goaway(session_, NGHTTP2_FLAG_NONE, last_id_, NGHTTP2_NO_ERROR, nullptr, 0);
      lingers_ = true;
    }
    finishing_ = true;
    pump();
  }

 private:
  class Reply;
  struct Stream {
    explicit Stream(HttpShared& shared) : open_bytes(shared) {}
    WebRequest request;
    OpenBytes open_bytes;
    size_t header_bytes = 0;
    bool refused = false;  // answered before the whole request came
    bool asked = false, reset = false;
    double begun = system_clock().seconds();
    std::weak_ptr<Reply> reply;
    // The answer.
    std::deque<std::string> pieces;
    size_t sent_of_first = 0, unsent = 0;
    bool ending = false, deferred = false;
    double progressed = 0;  // last time that nothing was pending, or some of it was read
  };

  // nghttp2 is C: no exception passes through it. The connection ends.
  template <auto f, class... Args>
  static int guarded(Args... args) {
    try {
      return f(args...);
    } catch (const std::exception&) {
      return NGHTTP2_ERR_CALLBACK_FAILURE;
    }
  }
  static Http2& self_of(void* user) { return *static_cast<Http2*>(user); }
  Stream* find(int32_t id) {
    const auto it = streams_.find(id);
    return it == streams_.end() ? nullptr : &it->second;
  }

  static int on_begin(nghttp2_session*, const nghttp2_frame* frame, void* user) {
    if (frame->hd.type == NGHTTP2_HEADERS && frame->headers.cat == NGHTTP2_HCAT_REQUEST) {
      Http2& c = self_of(user);
      const int32_t id = frame->hd.stream_id;
      if (c.finishing_ && id > c.last_id_)
        nghttp2_submit_rst_stream(c.session_, NGHTTP2_FLAG_NONE, id, NGHTTP2_REFUSED_STREAM);
      else
        c.begin_stream(id);
    }
    return 0;
  }

  static int on_header(nghttp2_session*, const nghttp2_frame* frame, const uint8_t* name,
                       size_t name_size, const uint8_t* value, size_t value_size, uint8_t,
                       void* user) {
    Http2& c = self_of(user);
    Stream* s = c.find(frame->hd.stream_id);
    if (s == nullptr || s->refused || s->reset) return 0;
    s->header_bytes += name_size + value_size + 32;
    if (s->header_bytes > c.shared_.options.most_header_bytes) {
      c.refuse(frame->hd.stream_id, *s, web_error(431, "the headers are too long"));
      return 0;
    }
    const std::string key(reinterpret_cast<const char*>(name), name_size);
    std::string text(reinterpret_cast<const char*>(value), value_size);
    WebRequest& r = s->request;
    if (key == ":method") {
      r.method = std::move(text);
    } else if (key == ":path") {
      const size_t question = text.find('?');
      if (question != std::string::npos) r.query = text.substr(question + 1);
      r.path = text.substr(0, question);
    } else if (key == ":authority") {
      r.headers.emplace_back("host", std::move(text));
    } else if (!key.starts_with(':')) {
      r.headers.emplace_back(key, std::move(text));
    }
    return 0;
  }

  static int on_data(nghttp2_session*, uint8_t, int32_t id, const uint8_t* data, size_t size,
                     void* user) {
    Http2& c = self_of(user);
    Stream* s = c.find(id);
    if (s == nullptr || s->refused || s->reset) return 0;
    const size_t most = c.shared_.options.most_body_bytes;
    if (s->request.body.size() + size > most) {
      c.refuse(id, *s,
               web_error(413, "the body is longer than " + std::to_string(most) + " bytes"));
      return 0;
    }
    if (!s->open_bytes.add(size)) {
      c.refuse(id, *s, no_room_for_body(c.shared_));
      return 0;
    }
    s->request.body.append(reinterpret_cast<const char*>(data), size);
    return 0;
  }

  static int on_frame(nghttp2_session*, const nghttp2_frame* frame, void* user) {
    Http2& c = self_of(user);
    if (frame->hd.type != NGHTTP2_HEADERS && frame->hd.type != NGHTTP2_DATA) return 0;
    Stream* s = c.find(frame->hd.stream_id);
    if (s == nullptr || s->refused || s->reset || s->asked) return 0;
    if (frame->hd.type == NGHTTP2_HEADERS && frame->headers.cat == NGHTTP2_HCAT_REQUEST)
      if (std::optional<WebAnswer> refusal = c.shared_.refusal(s->request)) {
        c.refuse(frame->hd.stream_id, *s, std::move(*refusal));
        return 0;
      }
    if (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) c.asked_.push_back(frame->hd.stream_id);
    return 0;
  }

  // Once a client has its answer, the rest of its request is not needed.
  static int on_sent(nghttp2_session*, const nghttp2_frame* frame, void* user) {
    Http2& c = self_of(user);
    if ((frame->hd.type != NGHTTP2_HEADERS && frame->hd.type != NGHTTP2_DATA) ||
        !(frame->hd.flags & NGHTTP2_FLAG_END_STREAM))
      return 0;
    const int32_t id = frame->hd.stream_id;
    Stream* s = c.find(id);
    if (s != nullptr && s->refused && nghttp2_session_get_stream_remote_close(c.session_, id) == 0)
      c.reset(id, *s, NGHTTP2_NO_ERROR);
    return 0;
  }

  static int on_close(nghttp2_session*, int32_t id, uint32_t error, void* user);

  // For use within nghttp2's callbacks: take() sends what they have to send.
  void begin_stream(int32_t id) {
    WebRequest& r = streams_.try_emplace(id, shared_).first->second.request;
    r.client = client_;
    r.protocol = "HTTP/2.0";
  }
  void refuse(int32_t id, Stream& s, WebAnswer a) {
    shared_.finish_refusal(s.request, a);
    s.refused = true;
    forget_body(s);
    respond(id, s, a, std::move(a.body), true);
  }
  void reset(int32_t id, Stream& s, uint32_t why) {
    if (s.reset) return;
    s.reset = true;
    nghttp2_submit_rst_stream(session_, NGHTTP2_FLAG_NONE, id, why);
  }
  void forget_body(Stream& s) {
    s.open_bytes.clear();
    std::string().swap(s.request.body);  // frees the memory
  }

  // Sends status and headers, then `first`; resume() sends the rest. The caller pumps.
  void respond(int32_t id, Stream& s, const WebAnswer& a, std::string first, bool whole) {
    WebHeaders headers{{":status", std::to_string(a.status)}};
    if (!a.type.empty()) headers.emplace_back("content-type", a.type);
    if (whole) headers.emplace_back("content-length", std::to_string(first.size()));
    for (const auto& [name, value] : a.headers) {
      headers.emplace_back(name, value);
      for (char& ch : headers.back().first)
        ch = ch >= 'A' && ch <= 'Z' ? static_cast<char>(ch - 'A' + 'a') : ch;
    }
    std::vector<nghttp2_nv> list;
    for (auto& [name, value] : headers)
      list.push_back({reinterpret_cast<uint8_t*>(name.data()),
                      reinterpret_cast<uint8_t*>(value.data()), name.size(), value.size(),
                      NGHTTP2_NV_FLAG_NONE});
    const bool no_body = s.request.method == "HEAD" || (whole && first.empty());
    if (!first.empty() && !no_body) {
      s.unsent += first.size();
      s.pieces.push_back(std::move(first));
    }
    s.ending = s.ending || whole;
    s.progressed = system_clock().seconds();
    nghttp2_data_provider provider{};
    provider.source.ptr = this;
    provider.read_callback = read_data;
    nghttp2_submit_response(session_, id, list.data(), list.size(), no_body ? nullptr : &provider);
  }

  static ssize_t read_data(nghttp2_session*, int32_t id, uint8_t* to, size_t room, uint32_t* flags,
                           nghttp2_data_source* source, void*) {
    Http2& c = *static_cast<Http2*>(source->ptr);
    Stream* s = c.find(id);
    if (s == nullptr) return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
    size_t n = 0;
    while (n < room && !s->pieces.empty()) {
      const std::string& piece = s->pieces.front();
      const size_t count = std::min(room - n, piece.size() - s->sent_of_first);
      std::memcpy(to + n, piece.data() + s->sent_of_first, count);
      n += count;
      s->unsent -= count;
      s->sent_of_first += count;
      if (s->sent_of_first < piece.size()) continue;
      s->pieces.pop_front();
      s->sent_of_first = 0;
    }
    if (n > 0) s->progressed = system_clock().seconds();
    if (s->pieces.empty() && s->ending) {
      *flags |= NGHTTP2_DATA_FLAG_EOF;
    } else if (n == 0) {
      s->deferred = true;
      return NGHTTP2_ERR_DEFERRED;
    }
    return static_cast<ssize_t>(n);
  }

  void resume(int32_t id, Stream& s) {
    if (s.deferred) {
      s.deferred = false;
      nghttp2_session_resume_data(session_, id);
    }
    pump();
  }

  bool take(const uint8_t* data, size_t size) {
    const ssize_t n = nghttp2_session_mem_recv(session_, data, size);
    if (n < 0) {
      pump();
      close();
      return false;
    }
    active_ = system_clock().seconds();
    while (!asked_.empty()) {
      const int32_t id = asked_.front();
      asked_.pop_front();
      if (Stream* s = find(id)) ask(id, *s);
    }
    pump();
    return !closed_;
  }
  void ask(int32_t id, Stream& s);

  void read() {
    wire_->read_some(asio::buffer(in_),
                     [self = shared_from_this()](beast::error_code failed, size_t bytes) {
                       if (failed) return self->close();
                       if (self->shut_) return self->read();  // further data are discarded
                       if (self->take(reinterpret_cast<const uint8_t*>(self->in_.data()), bytes))
                         self->read();
                     });
  }

  void pump() {
    if (writing_ || closed_ || shut_) return;
    out_.clear();
    while (out_.size() < kMostFrameBytes) {
      const uint8_t* bytes = nullptr;
      const ssize_t n = nghttp2_session_mem_send(session_, &bytes);
      if (n <= 0) {
        if (n < 0) return close();
        break;
      }
      out_.append(reinterpret_cast<const char*>(bytes), static_cast<size_t>(n));
    }
    if (out_.empty()) {
      if (!nghttp2_session_want_read(session_) && !nghttp2_session_want_write(session_)) end();
      return;
    }
    writing_ = true;
    write_begun_ = system_clock().seconds();
    wire_->write(out_, {}, [self = shared_from_this()](beast::error_code failed, size_t) {
      self->writing_ = false;
      if (failed) return self->close();
      self->pump();
    });
  }

  // Ends the sending side and lingers: an immediate close could drop data that the client has not
  // read.
  void end() {
    if (!lingers_) return close();
    shut_ = true;
    shut_at_ = system_clock().seconds();
    beast::error_code ignored;
    wire_->tcp().socket().shutdown(asio::ip::tcp::socket::shutdown_send, ignored);
  }

  // Runs once a second: ends streams and connections that take too long.
  void tick() {
    timer_.expires_after(std::chrono::seconds(1));
    timer_.async_wait([weak = weak_from_this()](beast::error_code failed) {
      const auto self = weak.lock();
      if (failed || !self || self->closed_) return;
      const HttpOptions& o = self->shared_.options;
      const double now = system_clock().seconds();
      if (self->writing_ && now - self->write_begun_ > o.write_seconds) return self->close();
      if (self->shut_ && now - self->shut_at_ > kLingerSeconds) return self->close();
      if (self->streams_.empty() && now - self->active_ > o.idle_seconds) self->finish();
      for (auto& [id, s] : self->streams_) {
        const bool asks_slowly = !s.asked && !s.refused && now - s.begun > o.request_seconds;
        // The last frame of an answer may also wait for the client, with no unsent bytes.
        const bool takes_slowly =
            (s.refused || s.ending || s.unsent > 0) && now - s.progressed > o.write_seconds;
        if (s.reset || (!asks_slowly && !takes_slowly)) continue;
        self->forget_body(s);
        self->reset(id, s, NGHTTP2_CANCEL);
      }
      self->pump();
      if (!self->closed_) self->tick();
    });
  }

  void close();

  std::shared_ptr<Wire> wire_;
  HttpShared& shared_;
  asio::steady_timer timer_;
  nghttp2_session* session_ = nullptr;
  std::string client_;
  std::map<int32_t, Stream> streams_;
  std::deque<int32_t> asked_;
  std::array<char, 16 << 10> in_;
  std::string out_;
  int64_t resets_ = 0;
  int32_t last_id_ = 0;  // last stream that is answered while finishing_
  bool writing_ = false, closed_ = false, finishing_ = false, lingers_ = false, shut_ = false;
  double write_begun_ = 0, shut_at_ = 0, active_ = system_clock().seconds();
};

class Http2::Reply : public ConnectionReply, public std::enable_shared_from_this<Http2::Reply> {
 public:
  Reply(std::shared_ptr<Http2> connection, int32_t id, OpenBytes open_bytes)
      : connection_(std::move(connection)), open_bytes_(std::move(open_bytes)), id_(id) {
    ++connection_->shared_.requests;
  }
  ~Reply() override {
    --connection_->shared_.requests;
    if (done_) return;
    asio::post(connection_->wire_->get_executor(), [c = connection_, id = id_, b = begun_.load()] {
      Stream* s = c->closed_ ? nullptr : c->find(id);
      if (s == nullptr) return;
      if (!b) {
        WebAnswer a = web_error(500, "the request was dropped");
        c->respond(id, *s, a, std::move(a.body), true);
      } else {
        c->reset(id, *s, NGHTTP2_INTERNAL_ERROR);
      }
      c->pump();
    });
  }

  void send(WebAnswer a) override {
    if (begun_) return;
    done_ = true;
    post([this, a = std::move(a)](Stream& s) mutable {
      std::string body = std::move(a.body);
      connection_->respond(id_, s, a, std::move(body), true);
      connection_->pump();
    });
  }
  void begin(WebAnswer a) override {
    begun_ = true;
    post([this, a = std::move(a)](Stream& s) {
      connection_->respond(id_, s, a, "", false);
      connection_->pump();
    });
  }
  void write(std::string piece) override {
    if (piece.empty()) return;
    post([this, p = std::move(piece)](Stream& s) mutable {
      if (s.request.method == "HEAD" || s.reset) return;
      if (s.unsent == 0) s.progressed = system_clock().seconds();
      s.unsent += p.size();
      s.pieces.push_back(std::move(p));
      if (s.unsent > connection_->shared_.options.most_unsent_bytes) {
        connection_->reset(id_, s, NGHTTP2_CANCEL);
        return connection_->pump();
      }
      connection_->resume(id_, s);
    });
  }
  void end() override {
    done_ = true;
    post([this](Stream& s) {
      if (s.unsent == 0) s.progressed = system_clock().seconds();
      s.ending = true;
      connection_->resume(id_, s);
    });
  }

 private:
  template <class F>
  void post(F f) {
    asio::post(connection_->wire_->get_executor(), [self = shared_from_this(),
                                                    f = std::move(f)]() mutable {
      Stream* s = self->connection_->closed_ ? nullptr : self->connection_->find(self->id_);
      if (s != nullptr) f(*s);
    });
  }

  std::shared_ptr<Http2> connection_;
  OpenBytes open_bytes_;
  int32_t id_;
  std::atomic<bool> done_ = false, begun_ = false;
};

void Http2::ask(int32_t id, Stream& s) {
  s.asked = true;
  const auto reply = std::make_shared<Reply>(shared_from_this(), id, std::move(s.open_bytes));
  s.reply = reply;
  WebRequest request = std::move(s.request);
  s.request.method = request.method;
  shared_.handler(std::move(request), reply);
}

int Http2::on_close(nghttp2_session*, int32_t id, uint32_t error, void* user) {
  Http2& c = self_of(user);
  const auto it = c.streams_.find(id);
  if (it == c.streams_.end()) return 0;
  const auto reply = it->second.reply.lock();
  c.forget_body(it->second);
  c.streams_.erase(it);
  if (reply) reply->left();
  c.resets_ += error == NGHTTP2_NO_ERROR ? (c.resets_ > 0 ? -1 : 0) : 1;
  if (c.resets_ > kMostResets)
    nghttp2_session_terminate_session(c.session_, NGHTTP2_ENHANCE_YOUR_CALM);
  return 0;
}

void Http2::close() {
  if (closed_) return;
  closed_ = true;
  timer_.cancel();
  beast::error_code ignored;
  wire_->tcp().socket().close(ignored);
  for (auto& [id, s] : streams_)
    if (const auto reply = s.reply.lock()) reply->left();
  streams_.clear();
}

}  // namespace

std::shared_ptr<HttpConnection> start_http2(std::shared_ptr<Wire> wire, HttpShared& shared,
                                            beast::flat_buffer begun) {
  auto connection = std::make_shared<Http2>(std::move(wire), shared);
  connection->start(begun);
  return connection;
}

}  // namespace hone
