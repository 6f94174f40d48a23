import type { Clock } from '../../runtime/clock.ts';
import type { AuthorizationCodes } from './authorization-codes.ts';
import type { AuthorizationRequest } from './authorization-request.ts';
import type { Directory } from './directory.ts';
import { equalSecrets, fingerprint, opaqueToken } from './opaque-token.ts';

interface SignInDeps {
  readonly clock: Clock;
  readonly directory: Directory;
  readonly codes: AuthorizationCodes;
}

/** A sign-in step's result. */
export type SignInResult =
  | { readonly kind: 'code'; readonly request: AuthorizationRequest; readonly code: string }
  /** The 6-digit code is asked for, or has been accepted. */
  | { readonly kind: 'mfa' | 'confirm'; readonly request: AuthorizationRequest; readonly nextStepAuthId: string }
  /** Wrong password or code. The request is there as long as the step may be tried again. */
  | { readonly kind: 'denied'; readonly description: string; readonly request?: AuthorizationRequest }
  | { readonly kind: 'wait'; readonly waitMs: number; readonly request?: AuthorizationRequest };

interface Step {
  readonly request: AuthorizationRequest;
  readonly username: string;
  readonly endsAtMs: number;
  wrong: number;
  verified: boolean;
}

const stepLifetimeMs = 300_000;
/** In one sign-in. The limiter counts over all sign-ins. */
const maxWrongCodes = 5;
const maxSteps = 10_000;
const noSuchStep = 'This sign-in is unknown, over or expired; start again';

/**
 * Users signing in: password, then the 6-digit code if the user has MFA, then confirm
 * (specification, "Authentication" 7).
 *
 * A sign-in's states: password → code given; or password → mfa → confirm → code given. Invariant: a
 * code is made once for each sign-in, after every step that the user's settings ask for. Wrong
 * answers are bounded in one sign-in and over all sign-ins, also for unknown names.
 */
export class SignIns {
  /** The screen's base address, known once it listens. */
  screenAddress = '';
  private readonly steps = new Map<string, Step>();
  private readonly passwords: AttemptLimiter;
  private readonly mfaCodes: AttemptLimiter;
  private readonly deps: SignInDeps;

  constructor(deps: SignInDeps) {
    this.deps = deps;
    this.passwords = new AttemptLimiter(deps, { burst: 10, everyMs: 30_000 });
    this.mfaCodes = new AttemptLimiter(deps, { burst: 10, everyMs: 30_000 });
  }

  password(request: AuthorizationRequest, username: string, password: string): SignInResult {
    const waitMs = this.passwords.waitMs(username);
    if (waitMs > 0) return { kind: 'wait', waitMs, request };
    const user = this.deps.directory.users.get(username);
    // Compared for an unknown name too: the time must not show who has an account.
    const right = equalSecrets(user?.password.reveal() ?? '', password);
    if (user === undefined || !right) {
      this.passwords.failed(username);
      return { kind: 'denied', description: 'Wrong user name or password', request };
    }
    this.passwords.succeeded(username);
    if (user.mfa === null) return { kind: 'code', request, code: this.deps.codes.issue(request, username) };
    const nextStepAuthId = opaqueToken();
    this.forgetOld();
    const endsAtMs = this.deps.clock.monotonicMs() + stepLifetimeMs;
    this.steps.set(fingerprint(nextStepAuthId), { request, username, endsAtMs, wrong: 0, verified: false });
    return { kind: 'mfa', request, nextStepAuthId };
  }

  verify(nextStepAuthId: string, verificationCode: string): SignInResult {
    const step = this.stepOf(nextStepAuthId);
    if (step === undefined || step.verified) return { kind: 'denied', description: noSuchStep };
    const { request, username } = step;
    const waitMs = this.mfaCodes.waitMs(username);
    if (waitMs > 0) return { kind: 'wait', waitMs, request };
    const expected = this.deps.directory.users.get(username)?.mfa ?? null;
    if (expected !== null && equalSecrets(expected, verificationCode)) {
      this.mfaCodes.succeeded(username);
      step.verified = true;
      return { kind: 'confirm', request, nextStepAuthId };
    }
    this.mfaCodes.failed(username);
    step.wrong += 1;
    if (step.wrong < maxWrongCodes) return { kind: 'denied', description: 'Wrong verification code', request };
    this.steps.delete(fingerprint(nextStepAuthId));
    return { kind: 'denied', description: 'Too many wrong verification codes; start again' };
  }

  confirm(nextStepAuthId: string): SignInResult {
    const step = this.stepOf(nextStepAuthId);
    if (step === undefined) return { kind: 'denied', description: noSuchStep };
    if (!step.verified) return { kind: 'denied', description: 'The verification code comes first' };
    this.steps.delete(fingerprint(nextStepAuthId));
    return { kind: 'code', request: step.request, code: this.deps.codes.issue(step.request, step.username) };
  }

  /** The user says no to the last question. Undefined: there is no such sign-in. */
  deny(nextStepAuthId: string): AuthorizationRequest | undefined {
    const step = this.stepOf(nextStepAuthId);
    this.steps.delete(fingerprint(nextStepAuthId));
    return step?.request;
  }

  private stepOf(nextStepAuthId: string): Step | undefined {
    const step = this.steps.get(fingerprint(nextStepAuthId));
    return step === undefined || this.deps.clock.monotonicMs() >= step.endsAtMs ? undefined : step;
  }

  private forgetOld(): void {
    for (const [key, step] of this.steps) {
      if (step.endsAtMs > this.deps.clock.monotonicMs() && this.steps.size < maxSteps) return;
      this.steps.delete(key);
    }
  }
}

interface AttemptLimits {
  /** Wrong answers that may come at once. */
  readonly burst: number;
  /** After them, one more in each of these. */
  readonly everyMs: number;
}

const maxKept = 50_000;

/**
 * A bound on guessing passwords and MFA codes, by the guessed name, whether it exists or not (RFC
 * 6749, section 10.10).
 *
 * Invariant: in any time `t` at most `burst + t / everyMs` wrong answers are looked at for one
 * name. A right answer clears the name.
 */
export class AttemptLimiter {
  /** When the name's wrong answers are forgiven; each adds `everyMs`. */
  private readonly owedUntilMs = new Map<string, number>();
  private readonly clock: Clock;
  private readonly limits: AttemptLimits;

  constructor(deps: { clock: Clock }, limits: AttemptLimits) {
    this.clock = deps.clock;
    this.limits = limits;
  }

  /** Milliseconds until another answer is looked at; 0 means now. */
  waitMs(name: string): number {
    const { burst, everyMs } = this.limits;
    const owedMs = (this.owedUntilMs.get(name) ?? 0) - this.clock.monotonicMs();
    return Math.max(0, owedMs - (burst - 1) * everyMs);
  }

  failed(name: string): void {
    const nowMs = this.clock.monotonicMs();
    const owed = Math.max(nowMs, this.owedUntilMs.get(name) ?? 0) + this.limits.everyMs;
    this.owedUntilMs.delete(name);
    for (const [other, untilMs] of this.owedUntilMs) {
      if (untilMs > nowMs && this.owedUntilMs.size < maxKept) break;
      this.owedUntilMs.delete(other);
    }
    this.owedUntilMs.set(name, owed);
  }

  succeeded(name: string): void {
    this.owedUntilMs.delete(name);
  }
}
