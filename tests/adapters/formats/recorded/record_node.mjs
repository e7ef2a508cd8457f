// Lets Node's validators and servers refuse the mistakes of `mistakes.json`, and writes their answers to `node.json`.
//
//   npm install express express-validator joi celebrate zod zod3@npm:zod@3 class-validator class-transformer \
//     reflect-metadata ajv fastify yup valibot @vinejs/vine superstruct express-openapi-validator effect \
//     effect3@npm:effect@3
//   node record_node.mjs
import fs from 'node:fs'
import path from 'node:path'
import http from 'node:http'
import { createRequire } from 'node:module'
const here = import.meta.dirname
const require = createRequire(path.join(process.cwd(), 'x.js'))
const load = async (name) => { const m = await import(require.resolve(name)); return m.default && Object.keys(m).length === 1 ? m.default : m }
const versionOf = (name) => { let d = path.dirname(require.resolve(name)); while (!fs.existsSync(d + '/package.json') || !JSON.parse(fs.readFileSync(d + '/package.json')).version) d = path.dirname(d); return JSON.parse(fs.readFileSync(d + '/package.json')).version }
const mistakes = JSON.parse(fs.readFileSync(here + '/mistakes.json'))
const STATUSES = ['draft', 'open', 'closed']
const SCHEMA = {
  type: 'object', required: ['name', 'quantity', 'address'], additionalProperties: false,
  properties: {
    name: { type: 'string', minLength: 3, maxLength: 20 }, quantity: { type: 'integer', minimum: 1, maximum: 200 },
    status: { type: 'string', enum: STATUSES },
    address: { type: 'object', required: ['city'], additionalProperties: false, properties: { city: { type: 'string' } } },
  },
}
const json = (status, answer) => ({ status, type: 'application/json', answer })

// An Express server around a handler, asked over a socket.
async function server(set) {
  const express = (await load('express')).default ?? (await load('express'))
  const app = express(); app.use(express.json()); await set(app, express)
  app.use((error, req, res, next) => res.status(error.status ?? 500).json({ message: error.message, errors: error.errors }))
  const s = http.createServer(app); await new Promise((r) => s.listen(0, '127.0.0.1', r))
  const ask = async (one) => {
    const r = await fetch(`http://127.0.0.1:${s.address().port}/orders?` + new URLSearchParams(one.query), { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(one.body) })
    const type = r.headers.get('content-type') ?? ''; const text = await r.text()
    return { status: r.status, type, answer: type.includes('json') ? JSON.parse(text) : text }
  }
  return { ask, close: () => s.close() }
}

const FRAMEWORKS = {
  'express-validator': ['express-validator', () => server(async (app) => {
    const { body, checkExact, validationResult } = require('express-validator')
    app.post('/orders', checkExact([body('name').exists().withMessage('name is required').bail().isLength({ min: 3, max: 20 }), body('quantity').isInt({ min: 1, max: 200 }), body('status').optional().isIn(STATUSES), body('address.city').isString()]),
      (req, res) => { const r = validationResult(req); r.isEmpty() ? res.json({}) : res.status(400).json({ errors: r.array() }) })
  })],
  Joi: ['joi', async () => {
    const Joi = require('joi')
    const schema = Joi.object({ name: Joi.string().min(3).max(20).required(), quantity: Joi.number().integer().min(1).max(200).required(), status: Joi.string().valid(...STATUSES), address: Joi.object({ city: Joi.string().required() }).required() })
    return { ask: async (one) => { const { error } = schema.validate(one.body); return error ? json(400, { error }) : json(200, {}) } }
  }],
  'Joi, its message': ['joi', async () => {
    const Joi = require('joi')
    const schema = Joi.object({ name: Joi.string().min(3).max(20).required(), quantity: Joi.number().integer().min(1).max(200).required(), status: Joi.string().valid(...STATUSES), address: Joi.object({ city: Joi.string().required() }).required() })
    return { ask: async (one) => { const { error } = schema.validate(one.body); return error ? json(400, { status: 'fail', message: error.message }) : json(200, {}) } }
  }],
  celebrate: ['celebrate', () => server(async (app) => {
    const { celebrate, errors, Segments, Joi } = require('celebrate')
    app.post('/orders', celebrate({ [Segments.BODY]: Joi.object({ name: Joi.string().min(3).max(20).required(), quantity: Joi.number().integer().min(1).max(200).required(), status: Joi.string().valid(...STATUSES), address: Joi.object({ city: Joi.string().required() }).required() }) }), (req, res) => res.json({}))
    app.use(errors())
  })],
  ...Object.fromEntries([['Zod 4', 'zod'], ['Zod 3', 'zod3']].flatMap(([title, name]) => {
    const schema = () => { const z = require(name); return z.object({ name: z.string().min(3).max(20), quantity: z.number().int().min(1).max(200), status: z.enum(STATUSES).optional(), address: z.object({ city: z.string() }).strict() }).strict() }
    const make = (wrap) => [name, async () => ({ ask: async (one) => { const r = schema().safeParse(one.body); return r.success ? json(200, {}) : json(400, wrap(r.error)) } })]
    return [[title, make((e) => ({ success: false, error: { name: 'ZodError', issues: e.issues } }))], [title + ', flattened', make((e) => e.flatten())], [title + ', formatted', make((e) => ({ errors: e.format() }))], [title + ' in tRPC', make((e) => ({ error: { message: JSON.stringify(e.issues, null, 2), code: -32600, data: { code: 'BAD_REQUEST', httpStatus: 400, path: 'orders' } } }))]]
  })),
  ...Object.fromEntries([['class-validator', (e) => e], ['NestJS', (e) => ({ statusCode: 400, message: e.flatMap(function f(x) { return x.children?.length ? x.children.flatMap(f).map((m) => `${x.property}.${m}`) : Object.values(x.constraints ?? {}) }), error: 'Bad Request' })]].map(([title, wrap]) => [title, ['class-validator', async () => {
    require('reflect-metadata'); const v = require('class-validator'); const { plainToInstance, Type } = require('class-transformer')
    class Address {} ; class Order {}
    const on = (c, p, ...ds) => ds.forEach((d) => d(c.prototype, p))
    on(Address, 'city', v.IsString()); on(Order, 'name', v.Length(3, 20), v.IsString()); on(Order, 'quantity', v.Max(200), v.Min(1), v.IsInt()); on(Order, 'status', v.IsOptional(), v.IsIn(STATUSES)); on(Order, 'address', v.ValidateNested(), v.IsObject(), Type(() => Address))
    return { ask: async (one) => { const errors = await v.validate(plainToInstance(Order, one.body), { whitelist: true, forbidNonWhitelisted: true, stopAtFirstError: true, validationError: { target: false } }); return errors.length ? json(400, wrap(JSON.parse(JSON.stringify(errors)))) : json(200, {}) } }
  }]])),
  ajv: ['ajv', async () => {
    const Ajv = require('ajv'); const check = new (Ajv.default ?? Ajv)({ allErrors: true }).compile(SCHEMA)
    return { ask: async (one) => (check(one.body) ? json(200, {}) : json(400, { status: 'invalid', result: { problems: check.errors } })) }
  }],
  'ajv, its text': ['ajv', async () => {
    const Ajv = require('ajv'); const ajv = new (Ajv.default ?? Ajv)(); const check = ajv.compile(SCHEMA)
    return { ask: async (one) => (check(one.body) ? json(200, {}) : json(400, { error: ajv.errorsText(check.errors) })) }
  }],
  Fastify: ['fastify', async () => {
    const app = require('fastify')(); app.post('/orders', { schema: { body: SCHEMA } }, async () => ({}))
    return { ask: async (one) => { const r = await app.inject({ method: 'POST', url: '/orders', payload: one.body }); return { status: r.statusCode, type: r.headers['content-type'], answer: r.json() } }, close: () => app.close() }
  }],
  'express-openapi-validator': ['express-openapi-validator', () => server(async (app) => {
    const OpenApi = require('express-openapi-validator')
    app.use(OpenApi.middleware({ apiSpec: { openapi: '3.0.3', info: { title: 'x', version: '1' }, paths: { '/orders': { post: { requestBody: { required: true, content: { 'application/json': { schema: SCHEMA } } }, responses: { 200: { description: 'x' } } } } } } }))
    app.post('/orders', (req, res) => res.json({}))
  })],
  Yup: ['yup', async () => {
    const y = require('yup')
    const schema = y.object({ name: y.string().min(3).max(20).required(), quantity: y.number().integer().min(1).max(200).required(), status: y.string().oneOf(STATUSES), address: y.object({ city: y.string().required() }) }).noUnknown().strict()
    return { ask: async (one) => { try { await schema.validate(one.body, { abortEarly: false }); return json(200, {}) } catch (e) { return json(400, { name: e.name, path: e.path, errors: e.errors, inner: e.inner.map(({ path, type, params, message }) => ({ path, type, message })) }) } } }
  }],
  Valibot: ['valibot', async () => {
    const v = require('valibot')
    const schema = v.strictObject({ name: v.pipe(v.string(), v.minLength(3), v.maxLength(20)), quantity: v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(200)), status: v.optional(v.picklist(STATUSES)), address: v.strictObject({ city: v.string() }) })
    return { ask: async (one) => { const r = v.safeParse(schema, one.body); return r.success ? json(200, {}) : json(400, { issues: r.issues }) } }
  }],
  VineJS: ['@vinejs/vine', async () => {
    const vine = (await load('@vinejs/vine')).default
    const schema = vine.compile(vine.object({ name: vine.string().minLength(3).maxLength(20), quantity: vine.number({ strict: true }).min(1).max(200), status: vine.enum(STATUSES).optional(), address: vine.object({ city: vine.string() }) }))
    return { ask: async (one) => { try { await schema.validate(one.body); return json(200, {}) } catch (e) { return json(422, { errors: e.messages }) } } }
  }],
  // The answer of its HttpApi to what it cannot decode.
  'Effect 3, HttpApi': ['effect3', async () => {
    const { Schema: S, ParseResult, Either } = await load('effect3')
    const schema = S.Struct({ name: S.String.pipe(S.minLength(3), S.maxLength(20)), quantity: S.Int.pipe(S.between(1, 200)), status: S.optional(S.Literal(...STATUSES)), address: S.Struct({ city: S.String }) })
    return { ask: async (one) => { const r = S.decodeUnknownEither(schema, { onExcessProperty: 'error' })(one.body); return Either.isRight(r) ? json(200, {}) : json(400, { issues: ParseResult.ArrayFormatter.formatErrorSync(r.left), message: ParseResult.TreeFormatter.formatErrorSync(r.left), _tag: 'HttpApiDecodeError' }) } }
  }],
  'Effect 4, its message': ['effect', async () => {
    const { Schema: S } = await load('effect')
    const schema = S.Struct({ name: S.String.check(S.isMinLength(3), S.isMaxLength(20)), quantity: S.Number.check(S.isInt(), S.isBetween({ minimum: 1, maximum: 200 })), status: S.optional(S.Literals(STATUSES)), address: S.Struct({ city: S.String }) })
    return { ask: async (one) => { try { S.decodeUnknownSync(schema, { onExcessProperty: 'error' })(one.body); return json(200, {}) } catch (e) { return json(400, { name: 'BadRequest', data: { message: e.message, kind: 'Payload' } }) } } }
  }],
  superstruct: ['superstruct', async () => {
    const s = require('superstruct')
    const schema = s.object({ name: s.size(s.string(), 3, 20), quantity: s.max(s.min(s.integer(), 1), 200), status: s.optional(s.enums(STATUSES)), address: s.object({ city: s.string() }) })
    return { ask: async (one) => { const [e] = s.validate(one.body, schema); return e ? json(400, { error: e.message }) : json(200, {}) } }
  }],
}

const recorded = []
for (const [framework, [name, make]] of Object.entries(FRAMEWORKS)) {
  try {
    const { ask, close } = await make()
    for (const one of mistakes) {
      const { status, type, answer } = await ask(one)
      if (status >= 400) recorded.push({ framework, version: versionOf(name), mistake: one.name, status, type, answer })
    }
    close?.()
  } catch (problem) { console.error(framework, problem.message) }
}
fs.writeFileSync(here + '/node.json', JSON.stringify(recorded, null, 1) + '\n')
process.exit(0)
