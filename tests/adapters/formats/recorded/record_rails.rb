# Lets Rails refuse the mistakes of `mistakes.json`, and writes its answers to `rails.json`.
#
#   apt-get install ruby-actionpack ruby-activemodel && ruby record_rails.rb
require "json"
require "action_controller"
require "active_model"
require "rack"

class Address
  include ActiveModel::Model
  attr_accessor :city
  validates :city, presence: true
end

class Order
  include ActiveModel::Model
  attr_accessor :name, :quantity, :status, :address
  validates :name, presence: true, length: { minimum: 3, maximum: 20, allow_blank: true }
  validates :quantity, numericality: { only_integer: true, greater_than_or_equal_to: 1, less_than_or_equal_to: 200 }
  validates :status, inclusion: { in: %w[draft open closed] }, allow_nil: true
  def read_attribute_for_validation(name)
    name.to_s.include?(".") ? nil : super
  end
  validate { Address.new(address || {}).tap { |one| errors.add("address.city", :blank) unless one.valid? } }
end

class OrdersController < ActionController::API
  ActionController::Parameters.action_on_unpermitted_parameters = :raise
  wrap_parameters false
  rescue_from(ActionController::UnpermittedParameters) { |error| render json: { status: 400, error: error.message }, status: 400 }

  def create
    order = Order.new(params.except(:controller, :action, :order).permit(:name, :quantity, :status, address: [:city]).to_h)
    return render(json: {}) if order.valid?
    full = request.headers["X-Full"]
    render json: full ? { errors: order.errors.full_messages } : { errors: order.errors }, status: :unprocessable_entity
  end
end

ROUTES = ActionDispatch::Routing::RouteSet.new
ROUTES.draw { post "/orders", to: "orders#create" }

answers = []
mistakes = JSON.parse(File.read(File.join(__dir__, "mistakes.json")))
["Rails 6.1", "Rails 6.1, full messages"].each do |title|
  mistakes.each do |one|
    env = Rack::MockRequest.env_for("/orders", method: "POST", input: JSON.generate(one["body"]))
    env["CONTENT_TYPE"] = "application/json"
    env["HTTP_X_FULL"] = "1" if title.end_with?("messages")
    status, headers, body = ROUTES.call(env)
    text = +""
    body.each { |part| text << part }
    next if status < 400
    answers << { framework: title, version: ActionPack.version.to_s, mistake: one["name"], status: status, type: headers["Content-Type"], answer: JSON.parse(text) }
  end
end
File.write(File.join(__dir__, "rails.json"), "[\n" + answers.map { |one| JSON.generate(one) }.join(",\n") + "\n]\n")
